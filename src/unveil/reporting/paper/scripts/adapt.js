// A figure as it suits the reader: colours of the scheme, a narrow screen, paper.

const scheme = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 560px)");
const touched = window.matchMedia("(pointer: coarse)");
const paperWidth = 680; // pixels between the margins of a sheet
const paperHeight = 740; // of a figure, so that it stands whole on a sheet with its heading and caption
let onPaper = false;

// Colours of unveil.plot.style that need a counterpart on dark paper: inks, first colour, halo.
const darkInks = new Map([
  ["#3A4450", "#D5DBE3"],
  ["#14191F", "#E6EAEF"],
  ["#0072B2", "#3491DB"],
  ["rgba(246, 248, 250, 0.82)", "rgba(28, 34, 41, 0.82)"],
]);

function paint(text) {
  return scheme.matches && !onPaper && darkInks.has(text) ? darkInks.get(text) : text;
}

function axesOf(layout, letter) {
  return Object.keys(layout).filter((key) => new RegExp("^" + letter + "axis[0-9]*$").test(key));
}

// Panels side by side, each with its own two axes; null where axes are shared, laid over another or in one column.
function panelsOf(layout) {
  const keys = axesOf(layout, "x");
  if (keys.length < 2 || keys.length > 4 || keys.length !== axesOf(layout, "y").length) return null;
  const panels = keys.map(function (key) {
    const across = layout[key];
    const up = layout[(across.anchor || "y").replace("y", "yaxis")];
    const paired = up && "x" + key.slice(5) === (up.anchor || "x") && !across.overlaying && !up.overlaying;
    return paired ? { across: across, up: up, x: across.domain || [0, 1], y: up.domain || [0, 1] } : null;
  });
  if (panels.includes(null)) return null;
  const beside = panels.some((one) => panels.some((other) => one.x[1] <= other.x[0] && one.y[0] < other.y[1] && other.y[0] < one.y[1]));
  return beside ? panels : null;
}

// Headings of panels hang on the paper, not on axes, so they are carried along.
function moveNotes(layout, panel, domain) {
  (layout.annotations || []).forEach(function (note) {
    if (note.xref !== "paper" || note.yref !== "paper" || note.moved) return;
    if (note.x < panel.x[0] || note.x > panel.x[1] || Math.abs(note.y - panel.y[1]) > 0.1) return;
    note.x = (note.x - panel.x[0]) / (panel.x[1] - panel.x[0]);
    note.y = domain[1] + (note.y - panel.y[1]);
    note.moved = true;
  });
}

function stack(layout) {
  const panels = panelsOf(layout);
  if (!panels) return;
  panels.sort((one, other) => other.y[1] - one.y[1] || one.x[0] - other.x[0]);
  layout.height = 310 * panels.length;
  const gap = 66 / layout.height; // for the labels and the title of an axis
  const weights = panels.map((panel) => 0.5 + panel.x[1] - panel.x[0]); // what was wider is taller
  const share = (1 - gap * (panels.length - 1)) / weights.reduce((sum, weight) => sum + weight, 0);
  let top = 1;
  panels.forEach(function (panel, place) {
    const domain = [Math.max(0, top - share * weights[place]), top];
    top = domain[0] - gap;
    moveNotes(layout, panel, domain);
    panel.across.domain = [0, 1];
    panel.up.domain = domain;
    if (panel.up.side === "right") panel.up.side = "left";
  });
  (layout.annotations || []).forEach((note) => delete note.moved);
}

function thinBars(figure) {
  const holders = figure.data.concat(figure.data.map((trace) => trace.marker || {}));
  Object.keys(figure.layout).filter((key) => key.startsWith("coloraxis")).forEach((key) => holders.push(figure.layout[key]));
  holders.filter((holder) => holder.colorbar).forEach(function (holder) {
    Object.assign(holder.colorbar, { thickness: 8, xpad: 2, tickfont: { size: 9 } });
  });
}

// Lines that the legend takes below the axes: its entries stand in columns as wide as the longest.
function legendLines(entries, width) {
  const widest = Math.max.apply(null, entries.map((trace) => 44 + 6.2 * trace.name.replace(/<[^>]*>|&[^;]*;/g, "x").length));
  const columns = Math.max(1, Math.floor(width / widest));
  return Math.ceil(entries.length / columns);
}

function legendBelow(figure) {
  const layout = figure.layout;
  const entries = figure.data.filter((trace) => trace.showlegend !== false && trace.name);
  if (layout.showlegend === false || entries.length < (layout.showlegend ? 1 : 2)) return;
  const room = 18 * legendLines(entries, layout.width - layout.margin.l - layout.margin.r) + 6;
  layout.height += room;
  layout.margin.b = Math.max(layout.margin.b, 30) + room; // 30 for the labels of the axis
  layout.legend = Object.assign({}, layout.legend, {
    orientation: "h", tracegroupgap: 0, x: 0, xref: "container", xanchor: "left", y: 0, yref: "container", yanchor: "bottom",
  });
}

function forNarrow(figure) {
  const layout = figure.layout;
  layout.font = Object.assign({}, layout.font, { size: 11 });
  layout.margin = { l: 48, r: 8, t: Math.min(layout.margin.t, 34), b: Math.min(layout.margin.b, 44) };
  layout.height = figure.narrow.height || (layout.height > 520 ? layout.height : Math.min(layout.height, 380));
  layout.annotations = (layout.annotations || []).filter((note) => !String(note.name).endsWith(", wide")); // no room here
  stack(layout);
  thinBars(figure);
  legendBelow(figure);
}

// Pale points are lost on dark paper.
function strengthen(figure) {
  figure.data.forEach(function (trace) {
    if (trace.marker && trace.marker.opacity < 0.8) trace.marker.opacity = Math.min(1, trace.marker.opacity + 0.15);
  });
}

function adapted(figure, width) {
  const layout = figure.layout;
  if (scheme.matches && !onPaper) strengthen(figure);
  layout.width = onPaper ? paperWidth : width;
  layout.uirevision = "kept"; // a replay and a change of scheme leave the reader's zoom alone
  if (touched.matches) layout.dragmode = false; // a finger scrolls the page
  if (onPaper) {
    layout.height = layout.height > 520 ? Math.min(layout.height, paperHeight) : Math.min(layout.height, 340);
    layout.font = Object.assign({}, layout.font, { size: 11 });
    legendBelow(figure);
  } else if (narrow.matches) {
    forNarrow(figure);
  }
  return figure;
}
