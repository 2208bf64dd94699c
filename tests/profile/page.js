// SPDX-License-Identifier: Apache-2.0
// Runs the script of a profile's page on a document that has just what it uses, and prints as JSON what would be seen: the
// tables, after loading, after a click on a head, and after the key for the next row by heat. Called with the page's path.
"use strict";
const fs = require("fs"), vm = require("vm");
const page = fs.readFileSync(process.argv[2], "utf8");

class Element {
  constructor(name) { this.tagName = name.toUpperCase(); this.children = []; this.style = {}; this.handlers = {}; this.own = ""; this.className = ""; }
  set textContent(text) { this.own = text; this.children = []; }
  get textContent() { return this.own + this.children.map(c => typeof c === "string" ? c : c.textContent).join(""); }
  append(...all) { this.children.push(...all); }
  replaceChildren(...all) { this.children = all; this.own = ""; }
  addEventListener(name, act) { this.handlers[name] = act; }
  scrollIntoView() {}
  setAttribute(name, value) { this[name] = value; }
  get length() { return this.children.length; }
  get value() { return this.chosenValue !== undefined ? this.chosenValue : this.children.length ? this.children[this.selectedIndex || 0].own_value : ""; }
  set value(v) { this.own_value = v; if (this.tagName === "SELECT") this.chosenValue = v; }
  all(name) { return this.children.flatMap(c => typeof c === "string" ? [] : [...(c.tagName === name ? [c] : []), ...c.all(name)]); }
  querySelectorAll(path) {
    const [outer, inner] = path.toUpperCase().split(" ");
    return this.all(outer).flatMap(e => e.all(inner));
  }
}
const byId = {};
for (const [, name, id] of page.matchAll(/<(\w+)[^>]*\bid="(\w+)"/g)) byId[id] = new Element(name);
byId.data.textContent = page.match(/<script id="data"[^>]*>(.*?)<\/script>/s)[1];
const document = new Element("document");
document.getElementById = id => byId[id];
document.createElement = name => new Element(name);
document.createElementNS = (_, name) => new Element(name);
vm.runInNewContext(page.match(/<script>(.*?)<\/script>/s)[1], {document, Math, JSON, Object, Map, Number, String});

const table = id => byId[id].querySelectorAll("tbody tr").map(tr => tr.children.map(td => td.textContent));
const heads = id => byId[id].all("TH");
const out = {facts: byId.facts.textContent, mix: byId.mix.children.length, dots: byId.roof.all("CIRCLE").length, source: table("source"), sass: table("sass"),
  columns: heads("sass").map(h => h.textContent)};
const issued = heads("sass").findIndex(h => h.textContent === "issued");
heads("sass")[issued].onclick();
out.sorted = table("sass").map(row => row[issued]);
byId.sass.handlers.focusin();
document.handlers.keydown({key: "n", target: byId.sass, preventDefault() {}});
out.chosen = byId.sass.querySelectorAll("tbody tr").filter(tr => tr.className === "chosen").map(tr => tr.children[0].textContent);
console.log(JSON.stringify(out));
