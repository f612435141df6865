# SPDX-License-Identifier: LGPL-2.1-or-later
"""node: npm ci from the cache in the home, tsc, vite build, jest."""
import json

from driver import counts

PROGRAMS = ("node", "npm")
IDENTITIES = ("user",)
ENVIRONMENT = {"CI": "1", "NO_COLOR": "1", "npm_config_update_notifier": "false"}
STEPS = ("npm ci --offline --no-audit --no-fund", "npx --no-install tsc -p .", "npx --no-install vite build", "npx --no-install jest -w 2")
COUNTS = counts.jest
VARIES = (r"node_modules/\.vite/.*",)
# rollup's packages for other platforms appear on mirrors days after the package itself. `npm install` leaves those that are missing
# out of the lock file without a word, and `npm ci` then refuses it; so an old rollup.
PACKAGE = {
    "name": "workload", "version": "1.0.0", "private": True, "type": "commonjs",
    "devDependencies": {"jest": "29.7.0", "typescript": "5.4.5", "vite": "5.2.11"},
    "overrides": {"rollup": "4.17.2"},
    "jest": {"testEnvironment": "node", "testMatch": ["**/out/**/*.test.js"]},
}


def prepare(t):
    t.write("package.json", json.dumps(PACKAGE, indent=2) + "\n")
    t.write("tsconfig.json", json.dumps({"compilerOptions": {
        "target": "es2020", "module": "commonjs", "outDir": "out", "strict": True, "declaration": True, "sourceMap": True,
        "incremental": True, "types": []}, "include": ["src"]}))
    t.write("index.html", '<!doctype html><title>w</title><div id="a"></div><script type="module" src="/web/main.js"></script>\n')
    t.write("web/main.js", "import { text } from './text.js';\nimport './style.css';\ndocument.querySelector('#a').textContent = text(3);\n")
    t.write("web/text.js", "export const text = (n) => 'text '.repeat(n);\n")
    t.write("web/style.css", "#a { color: red }\n")
    t.write("src/sum.ts", "export function sum(list: number[]): number {\n  return list.reduce((a, b) => a + b, 0);\n}\n")
    t.write("src/sum.test.ts", """declare const test: any, expect: any, require: any;
import { sum } from "./sum";
const fs = require("fs"), os = require("os"), path = require("path"), net = require("net"), child = require("child_process");
test.each([[[], 0], [[1], 1], [[1, 2, 3], 6]])("sum of %p", (list: number[], s: number) => expect(sum(list)).toBe(s));
test("snapshot", () => expect({ a: [1, sum([2, 3])] }).toMatchSnapshot());
test("temporary files", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "w-"));
  fs.writeFileSync(path.join(dir, "f"), "x");
  expect(fs.readdirSync(dir)).toEqual(["f"]);
  fs.rmSync(dir, { recursive: true });
});
test("a server on loopback", (done: any) => {
  const server = net.createServer((s: any) => s.end("hello")).listen(0, "127.0.0.1", () => {
    net.connect(server.address().port, "127.0.0.1").on("data", (d: any) => { expect(String(d)).toBe("hello"); server.close(done); });
  });
});
test("a child", () => expect(String(child.execFileSync("node", ["-p", "6*7"]))).toBe("42\\n"));
""")
    # CI=1 keeps jest from writing new snapshots: as in continuous integration, the expected one is there.
    t.write("out/__snapshots__/sum.test.js.snap", "// Jest Snapshot v1, https://goo.gl/fbAQLP\n\n"
            "exports[`snapshot 1`] = `\n{\n  \"a\": [\n    1,\n    5,\n  ],\n}\n`;\n")
    t.sh("npm install --no-audit --no-fund && rm -r node_modules && rm -rf ~/.npm/_logs")
