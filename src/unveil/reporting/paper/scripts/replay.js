// A figure with frames: a button plays them, a slider shows any. A frame holds the traces that change.

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function merged(base, change) {
  if (change === null || typeof change !== "object" || Array.isArray(change)) return change;
  const whole = base !== null && typeof base === "object" && !Array.isArray(base) ? Object.assign({}, base) : {};
  Object.keys(change).forEach((key) => { whole[key] = merged(whole[key], change[key]); });
  return whole;
}

function framesOf(figure) {
  return Array.isArray(figure.frames) ? figure.frames : figure.frames ? stored.shelf[figure.frames["@"]] : [];
}

// `figure` is as stored; the frame that is asked for, and no other, is taken from the shelf.
function atFrame(figure, number) {
  const data = unshelved(figure.data, stored.shelf);
  const layout = unshelved(figure.layout, stored.shelf);
  const frame = unshelved(framesOf(figure)[number] || {}, stored.shelf);
  (frame.data || []).forEach(function (change, place) {
    const trace = frame.traces ? frame.traces[place] : place;
    data[trace] = merged(data[trace], change);
  });
  return { data: data, layout: merged(layout, frame.layout || {}), narrow: figure.narrow || {} };
}

function lastFrame(node) {
  return Math.max(framesOf(stored.value[node.dataset.figure]).length - 1, 0);
}

// All steps take about ten seconds; readers who want less motion get one step a second.
function pause(steps) {
  return still.matches ? 1000 : Math.min(Math.max(10000 / steps, 150), 600);
}

function startReplay(figure) {
  const node = figure.querySelector(".plot");
  const button = figure.querySelector(".play");
  const slider = figure.querySelector("input[type=range]");
  const label = figure.querySelector("output");
  if (!slider) return;
  const words = Array.from(figure.querySelectorAll(".steps li"), (line) => line.textContent);
  const last = Number(slider.max);
  let clock = null;

  function show(step) {
    slider.value = String(step);
    label.textContent = words[step] || "step " + (step + 1) + " of " + (last + 1);
    slider.setAttribute("aria-valuetext", label.textContent);
    node.dataset.frame = String(step);
    if (drawn.has(node)) draw(node);
  }
  function stop() {
    clearInterval(clock);
    clock = null;
    button.textContent = "Play";
  }
  function advance() {
    const step = Number(slider.value) + 1;
    show(Math.min(step, last));
    if (step >= last) stop();
  }
  function play() {
    if (Number(slider.value) >= last) show(0);
    button.textContent = "Pause";
    clock = setInterval(advance, pause(last + 1));
  }
  button.addEventListener("click", () => (clock === null ? play() : stop()));
  slider.addEventListener("input", function () { stop(); show(Number(slider.value)); });
  new IntersectionObserver(function (entries) {
    if (clock !== null && !entries[entries.length - 1].isIntersecting) stop();
  }).observe(figure);
  show(0);
}
