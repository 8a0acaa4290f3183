// The list of contents: open where it stands beside the text, and the section that is read is marked.

function startContents() {
  const list = document.getElementById("contents");
  if (!list) return;
  const beside = window.matchMedia("(min-width: 1080px)");
  const fold = list.querySelector("details");
  const links = Array.from(list.querySelectorAll("a"));
  const sections = links.map((link) => document.getElementById(link.getAttribute("href").slice(1)));
  let current = null;
  let asked = false;

  function mark() {
    asked = false;
    const line = window.innerHeight * 0.3;
    const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 4;
    const above = sections.filter((section) => section.getBoundingClientRect().top <= line).length;
    const link = links[atEnd && window.scrollY > 0 ? links.length - 1 : above - 1] || null;
    if (link === current) return;
    if (current) current.removeAttribute("aria-current");
    if (link) link.setAttribute("aria-current", "location");
    current = link;
    if (link && beside.matches) {
      const top = link.offsetTop;
      if (top < list.scrollTop || top + link.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
    }
  }
  function ask() {
    if (!asked) requestAnimationFrame(mark);
    asked = true;
  }
  function place() { fold.open = beside.matches; }
  links.forEach((link) => link.addEventListener("click", function () { if (!beside.matches) fold.open = false; }));
  beside.addEventListener("change", place);
  window.addEventListener("scroll", ask, { passive: true });
  window.addEventListener("resize", ask);
  place();
  mark();
}
