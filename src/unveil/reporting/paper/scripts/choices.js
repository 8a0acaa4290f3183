// One of many columns at a time: a list, buttons to the neighbours, and a filter where the list is long.

const choosers = new Map();

// What the address points to is shown, be it in a fold or in a choice that is not made.
function reveal() {
  const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (!target) return;
  for (let node = target.parentElement; node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
    if (node.classList.contains("choice")) choosers.get(node.parentElement)(node);
  }
  target.scrollIntoView();
}

function startChoices(block) {
  const list = block.querySelector("select");
  const filter = block.querySelector("input[type=search]");
  const which = block.querySelector(".which");
  const choices = Array.from(block.querySelectorAll(":scope > .choice"));
  const options = Array.from(list.options);
  let current = 0;

  function show(number) {
    current = number;
    choices.forEach((choice, place) => choice.classList.toggle("current", place === number));
    options.forEach((option, place) => { option.selected = place === number; });
    which.textContent = number + 1 + " of " + choices.length;
  }
  // The neighbour among those that the filter leaves, and round at the ends.
  function move(by) {
    const left = Array.from(list.options, (option) => Number(option.value));
    if (left.length === 0) return;
    const place = left.indexOf(current);
    show(left[place < 0 ? 0 : (place + by + left.length) % left.length]);
  }
  function narrowDown() {
    const asked = filter.value.trim().toLowerCase();
    list.replaceChildren.apply(list, options.filter((option) => option.text.toLowerCase().includes(asked)));
    if (list.options.length > 0 && !Array.from(list.options).includes(options[current])) show(Number(list.options[0].value));
    which.textContent = list.options.length === 0 ? "none of that name" : current + 1 + " of " + choices.length;
  }
  list.addEventListener("change", function () { if (list.value !== "") show(Number(list.value)); });
  [[".back", -1], [".next", 1]].forEach(function (pair) {
    const button = block.querySelector(pair[0]);
    if (button) button.addEventListener("click", () => move(pair[1]));
  });
  if (filter) filter.addEventListener("input", narrowDown);
  choosers.set(block, (choice) => show(choices.indexOf(choice)));
  show(0);
}
