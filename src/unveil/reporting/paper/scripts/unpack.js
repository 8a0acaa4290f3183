// From the compressed text in the page to the plotting library and the values of the figures.

function unpacked(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// The content policy lists the hash of this text, so it may run; anything else that were put here might not.
function runLibrary(code) {
  const script = document.createElement("script");
  script.textContent = code;
  document.head.append(script);
  script.remove();
  if (!window.Plotly) throw new Error("the plotting library did not start");
}

const numbersOnly = new WeakSet();

function isPlain(values) {
  if (numbersOnly.has(values)) return true;
  const plain = values.every((value) => typeof value === "number" || typeof value === "boolean" || value === null);
  if (plain) numbersOnly.add(values);
  return plain;
}

// Arrays that figures share stand on a shelf, and {"@": 3} where array 3 is meant (shelf.py). Arrays of numbers are handed
// out as they are; all else is made anew, since it is painted and adapted.
function unshelved(value, shelf) {
  if (typeof value === "string") return paint(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return isPlain(value) ? value : value.map((part) => unshelved(part, shelf));
  if ("@" in value) return unshelved(shelf[value["@"]], shelf);
  const whole = {};
  Object.keys(value).forEach(function (key) {
    whole[key.startsWith("@") ? key.slice(1) : key] = unshelved(value[key], shelf);
  });
  return whole;
}
