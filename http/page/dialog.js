/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dialogs, and short messages at the edge of the page. */
import { el } from "./text.js";

/* Resolves to the value of the button, "" when it was closed; the form's fields are in the FormData. */
export function ask(title, body, buttons) {
	return new Promise((resolve) => {
		const form = el("form", { method: "dialog" }, el("h2", { id: "dialog-title" }, title), body,
			el("div", { class: "actions" }, buttons.map((b) => el("button", { type: "submit", value: b.value, class: b.class, autofocus: b.autofocus }, b.text))));
		const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, form);
		document.body.append(dialog);
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve({ value: dialog.returnValue, fields: new FormData(form) });
		});
		dialog.returnValue = "";
		dialog.showModal();
	});
}

export function isOpen() {
	return document.querySelector("dialog[open]") !== null;
}

export function say(text, isBad) {
	const host = document.getElementById("toasts");
	const node = el("div", { class: "toast" + (isBad ? " bad" : ""), role: isBad ? "alert" : undefined }, el("span", null, text), el("button", { type: "button", class: "quiet", "aria-label": "Close this message", on: { click: () => node.remove() } }, "×"));
	host.append(node);
	while (host.children.length > 3) host.firstChild.remove();
	setTimeout(() => node.remove(), isBad ? 15000 : 5000);
}

export function complain(failure) {
	say(failure.message + (failure.hint ? " (" + failure.hint + ")" : ""), true);
}
