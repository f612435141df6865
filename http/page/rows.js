/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A long list of rows of one height, of which only those in sight exist. One of them is current; arrow keys move it, and screen
 * readers are told which it is (aria-activedescendant) and how many there are. */
import { el } from "./text.js";

let lists = 0;

export class Rows {
	/* options: label, role ("listbox", "tree"), row(i) gives {node, attributes}, open(i), key(event, i) true when it took the key */
	constructor(options) {
		this.options = options;
		this.count = 0;
		this.current = 0;
		this.prefix = "rows" + ++lists + "-";
		this.inner = el("div", { class: "rows-inner", role: "presentation" });
		this.node = el("div", { class: "rows " + (options.class || ""), role: options.role, "aria-label": options.label, tabindex: "0", on: {
			keydown: (e) => this.press(e), scroll: () => this.draw(), focus: () => this.draw() } }, this.inner);
		if (options.role === "tree") this.node.setAttribute("aria-multiselectable", "true");
		this.shown = new Map();
		new ResizeObserver(() => this.draw()).observe(this.node);
	}

	/* The row's own height comes from the style sheet (--row); options.small(i) is a lower one (--row-small). */
	measure() {
		const style = getComputedStyle(this.node), row = parseFloat(style.getPropertyValue("--row")) || 32, small = parseFloat(style.getPropertyValue("--row-small")) || row;
		this.tops = new Float64Array(this.count + 1);
		for (let i = 0; i < this.count; i++) this.tops[i + 1] = this.tops[i] + (this.options.small?.(i) ? small : row);
	}

	/* The row at this height. */
	find(y) {
		let from = 0, to = this.count;
		while (from < to) {
			const middle = (from + to) >> 1;
			if (this.tops[middle + 1] <= y) from = middle + 1;
			else to = middle;
		}
		return from;
	}

	/* The rows are others now; the place stays. */
	reset(count) {
		this.count = count;
		this.current = Math.max(0, Math.min(this.current, count - 1));
		this.redraw();
	}

	/* A row that looks as before stays the same node: it may be about to be clicked. */
	redraw() {
		this.measure();
		for (const [i, node] of this.shown) {
			if (i < this.count && this.options.row(i).outerHTML === node.markup) {
				node.style.top = this.tops[i] + "px";
				continue;
			}
			node.remove();
			this.shown.delete(i);
		}
		this.draw();
	}

	draw() {
		if (!this.tops) this.measure();
		const room = this.node.clientHeight || 600, top = this.node.scrollTop;
		const from = Math.max(0, this.find(top) - 8), to = Math.min(this.count, this.find(top + room) + 9);
		this.inner.style.height = this.tops[this.count] + "px";
		for (const [i, node] of this.shown)
			if ((i < from || i >= to) && i !== this.current) {
				node.remove();
				this.shown.delete(i);
			}
		for (let i = from; i < to; i++) this.make(i);
		if (this.count > 0) this.make(this.current);
		for (const [i, node] of this.shown) node.classList.toggle("current", i === this.current);
		if (this.count > 0) this.node.setAttribute("aria-activedescendant", this.prefix + this.current);
		else this.node.removeAttribute("aria-activedescendant");
	}

	make(i) {
		if (this.shown.has(i) || i < 0 || i >= this.count) return;
		const node = this.options.row(i);
		node.markup = node.outerHTML;
		node.id = this.prefix + i;
		node.style.top = this.tops[i] + "px";
		node.classList.add("row");
		node.addEventListener("click", (e) => {
			this.move(i);
			if (!e.defaultPrevented) this.options.open?.(i, e);
		});
		/* In their order, which is that of screen readers. */
		let next = Infinity;
		for (const k of this.shown.keys()) if (k > i && k < next) next = k;
		this.inner.insertBefore(node, this.shown.get(next) || null);
		this.shown.set(i, node);
	}

	move(i) {
		if (this.count === 0) return;
		this.current = Math.max(0, Math.min(i, this.count - 1));
		if (!this.tops) this.measure();
		const node = this.node, top = this.tops[this.current], end = this.tops[this.current + 1], margin = end - top;
		if (top < node.scrollTop) node.scrollTop = Math.max(0, top - margin);
		else if (end > node.scrollTop + node.clientHeight) node.scrollTop = end + margin - node.clientHeight;
		this.draw();
		this.options.moved?.(this.current);
	}

	press(e) {
		if (e.target !== this.node || e.ctrlKey || e.metaKey || e.altKey) return;
		if (this.options.key?.(e, this.current)) {
			e.preventDefault();
			e.stopPropagation();
			return;
		}
		const page = Math.max(1, Math.floor((this.node.clientHeight * this.count) / (this.tops?.[this.count] || 1)) - 1);
		const to = { ArrowDown: this.current + 1, j: this.current + 1, ArrowUp: this.current - 1, k: this.current - 1, Home: 0, End: this.count - 1,
			PageDown: this.current + page, PageUp: this.current - page }[e.key];
		if (to !== undefined) this.move(to);
		else if (e.key === "Enter") this.options.open?.(this.current, e);
		else return;
		e.preventDefault();
		e.stopPropagation();
	}
}
