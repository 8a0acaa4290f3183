// Figures are drawn when they come near what is seen, anew when scheme or width change, and all of them for paper.

const config = { responsive: false, displaylogo: false, displayModeBar: false, scrollZoom: false, doubleClickDelay: 400 };
const plots = Array.from(document.querySelectorAll(".plot"));
const drawn = new Map(); // each figure that is drawn, and for what
let stored = null;

function tell(node, words) {
  const line = document.createElement("p");
  line.className = "quiet";
  line.textContent = words;
  node.style.height = "auto";
  node.removeAttribute("role");
  node.replaceChildren(line);
}

function failed(node, error) {
  drawn.delete(node);
  tell(node, "This figure could not be drawn. The words and tables around it hold without it.");
  console.error(node.id, error);
}

function draw(node) {
  const frame = onPaper ? lastFrame(node) : Number(node.dataset.frame || 0);
  try {
    const figure = adapted(atFrame(stored.value[node.dataset.figure], frame), node.clientWidth);
    node.style.height = figure.layout.height + "px";
    drawn.set(node, circumstances(node));
    window.Plotly.react(node, figure.data, figure.layout, config).catch((error) => failed(node, error));
  } catch (error) {
    failed(node, error);
  }
}

function circumstances(node) {
  return onPaper ? "paper" : [node.clientWidth, scheme.matches, narrow.matches].join(" ");
}

// Not those in a closed fold or a choice that is not made, which are looked at again when they are shown.
function refresh(node) {
  const shown = node.clientWidth > 100 && !node.closest("details:not([open])");
  if (shown && !onPaper && drawn.has(node) && drawn.get(node) !== circumstances(node)) draw(node);
}

let waiting = null;
function refreshAll() {
  clearTimeout(waiting);
  waiting = setTimeout(() => plots.forEach(refresh), 80); // a window that is being dragged changes all the time
}

// Those that paper shows: not in a closed fold, and of many choices the first few.
function goesOnPaper(node) {
  const choice = node.closest(".choice");
  const early = !choice || Array.from(choice.parentNode.querySelectorAll(":scope > .choice")).indexOf(choice) < 3;
  return early && !node.closest("details:not([open])");
}

function toPaper() {
  if (onPaper || !stored) return;
  onPaper = true;
  plots.filter(goesOnPaper).forEach(draw);
}

function fromPaper() {
  if (!onPaper) return;
  onPaper = false;
  plots.forEach(refresh);
}

function watchPlots() {
  const watcher = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) return;
      watcher.unobserve(entry.target);
      if (!drawn.has(entry.target)) draw(entry.target);
    });
  }, { rootMargin: "700px 0px" });
  const sizes = new ResizeObserver(refreshAll);
  plots.forEach(function (node) { watcher.observe(node); sizes.observe(node); });
  [scheme, narrow].forEach((query) => query.addEventListener("change", refreshAll));
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", fromPaper);
  window.matchMedia("print").addEventListener("change", (query) => (query.matches ? toPaper() : fromPaper()));
}

async function startFigures() {
  if (plots.length === 0) return;
  if (!("DecompressionStream" in window)) {
    plots.forEach((node) => tell(node, "This browser is too old to draw the figure; one of 2023 or later can. The words and tables hold without it."));
    return;
  }
  try {
    const texts = await Promise.all([unpacked("library"), unpacked("figures")]);
    runLibrary(texts[0]);
    stored = JSON.parse(texts[1]);
  } catch (error) {
    plots.forEach((node) => tell(node, "The figures of this page could not be unpacked. The words and tables hold without them."));
    console.error(error);
    return;
  }
  watchPlots();
}
