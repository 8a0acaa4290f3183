// Tables: marks at an edge that hides columns, rows on demand, glosses of words in their heads; and listings to copy.

function markEdges(scroller) {
  if (!scroller.clientWidth) return; // in a closed fold: what it hides is not known, so the keyboard can reach it
  const hidden = scroller.scrollWidth - scroller.clientWidth;
  const edge = scroller.parentNode;
  edge.classList.toggle("cut-left", scroller.scrollLeft > 2);
  edge.classList.toggle("cut-right", hidden - scroller.scrollLeft > 2);
  edge.parentNode.classList.toggle("wide", hidden > 2);
  const first = scroller.querySelector("th"); // it stays in place
  edge.style.setProperty("--first-width", (first ? first.offsetWidth : 0) + "px");
  if (hidden > 2) scroller.tabIndex = 0;
  else scroller.removeAttribute("tabindex");
}

// Tables change with the window, with a fold that opens, and with rows that are shown on demand.
const widths = new ResizeObserver((entries) => entries.forEach((one) => markEdges(one.target.closest(".scroller"))));

function startTable(table) {
  const scroller = table.querySelector(".scroller");
  scroller.addEventListener("scroll", () => markEdges(scroller), { passive: true });
  widths.observe(scroller);
  widths.observe(scroller.querySelector("table"));
  const button = table.querySelector("button.all");
  if (!button) return;
  const words = [button.textContent, "Show fewer rows"];
  button.addEventListener("click", function () {
    const open = table.classList.toggle("whole");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = words[open ? 1 : 0];
  });
}

function startGlosses() {
  const tip = document.getElementById("tip");
  let shown = null;
  function hide() { shown = null; tip.hidden = true; }
  function show(button) {
    shown = button;
    tip.textContent = document.getElementById(button.getAttribute("aria-describedby")).textContent;
    tip.hidden = false;
    const place = button.getBoundingClientRect();
    const below = place.bottom + tip.offsetHeight + 12 < window.innerHeight;
    tip.style.top = (below ? place.bottom + 6 : place.top - tip.offsetHeight - 6) + "px";
    tip.style.left = Math.max(8, Math.min(place.left, window.innerWidth - tip.offsetWidth - 8)) + "px";
  }
  document.querySelectorAll("button.gloss").forEach(function (button) {
    ["mouseenter", "focus", "click"].forEach((kind) => button.addEventListener(kind, () => show(button)));
    ["mouseleave", "blur"].forEach((kind) => button.addEventListener(kind, hide));
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  window.addEventListener("scroll", function () { if (shown) hide(); }, { passive: true, capture: true });
}

function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done ? Promise.resolve() : Promise.reject(new Error("not allowed"));
}

function startListing(listing) {
  const button = listing.querySelector("button.copy");
  function say(words) {
    button.textContent = words;
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  }
  button.addEventListener("click", function () {
    copied(listing.querySelector("code").textContent).then(() => say("Copied"), () => say("Select and copy by hand"));
  });
}
