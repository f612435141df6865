// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the manifests of contrib/k8s offline, with packages from npm. Prints TAP.
//
//   node check.mjs FOLDER-OF-MANIFESTS      in a folder with kubernetes-models, typescript and yaml installed
//
// A schema knows the values, but not that a field is misspelt: that is what the types find (excess properties of a literal).
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(path.join(process.cwd(), "x.js"));
const { parseAllDocuments } = require("yaml");
const ts = require("typescript");
const folder = path.resolve(process.argv[2]);

const TYPES = {
  "v1/Namespace": ["INamespace", "kubernetes-models/v1/Namespace"],
  "v1/Service": ["IService", "kubernetes-models/v1/Service"],
  "apps/v1/StatefulSet": ["IStatefulSet", "kubernetes-models/apps/v1/StatefulSet"],
  "apps/v1/Deployment": ["IDeployment", "kubernetes-models/apps/v1/Deployment"],
  "policy/v1/PodDisruptionBudget": ["IPodDisruptionBudget", "kubernetes-models/policy/v1/PodDisruptionBudget"],
  "networking.k8s.io/v1/NetworkPolicy": ["INetworkPolicy", "kubernetes-models/networking.k8s.io/v1/NetworkPolicy"],
};
// The part of agent-sandbox's own type that the template uses, from its API reference.
const SANDBOX_TEMPLATE = `import type { IPodSpec } from "kubernetes-models/v1/PodSpec";
type T = { apiVersion: "extensions.agents.x-k8s.io/v1beta1"; kind: "SandboxTemplate"; metadata: { name: string };
  spec: { podTemplate: { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: IPodSpec } } };`;

let count = 0, failed = 0;
function test(name, faults) {
  count++;
  failed += faults.length > 0;
  console.log(`${faults.length ? "not ok" : "ok"} ${count} - ${name}`);
  for (const fault of faults) console.log(`# ${fault}`);
}

function read() {
  const found = [];
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".yaml")).sort())
    for (const document of parseAllDocuments(fs.readFileSync(path.join(folder, file), "utf8"), { version: "1.1" })) {
      if (document.errors.length) throw document.errors[0];
      found.push({ file, value: document.toJS() });
    }
  return found;
}

// ── Values ──

function validationFaults({ value }) {
  const known = TYPES[`${value.apiVersion}/${value.kind}`];
  try {
    if (known) new (require(known[1])[value.kind])(value).validate();
    else new (require("kubernetes-models/v1/Pod").Pod)({ metadata: { name: "x" }, spec: value.spec.podTemplate.spec }).validate();
    return [];
  } catch (error) {
    return [error.message];
  }
}

// ── Fields ──

function typeFaults(value) {
  const known = TYPES[`${value.apiVersion}/${value.kind}`];
  const head = known ? `import type { ${known[0]} } from "${known[1]}";\ntype T = ${known[0]};` : SANDBOX_TEMPLATE;
  const file = path.join(process.cwd(), "manifest.ts");
  fs.writeFileSync(file, `${head}\nexport const manifest: T = ${JSON.stringify(value, null, 1)};\n`);
  const options = { noEmit: true, strict: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] };
  return ts.getPreEmitDiagnostics(ts.createProgram([file], options)).map((each) => ts.flattenDiagnosticMessageText(each.messageText, " "));
}

// ── What belongs together ──

const isPart = (selector, labels) => Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value);

function podsOf(all) {
  return all.filter(({ value }) => value.spec?.template).map(({ value }) => ({ name: value.metadata.name, labels: value.spec.template.metadata.labels,
    spec: value.spec.template.spec, claims: (value.spec.volumeClaimTemplates ?? []).map((each) => each.metadata.name), selector: value.spec.selector.matchLabels }));
}

function fitFaults(all) {
  const faults = [], pods = podsOf(all);
  const portNames = new Set(pods.flatMap((pod) => pod.spec.containers.flatMap((each) => each.ports.map((port) => port.name))));
  const wanted = (value) => (value.kind === "Service" ? [value.spec.selector] : value.kind === "PodDisruptionBudget" ? [value.spec.selector.matchLabels]
    : value.kind === "NetworkPolicy" ? [value.spec.podSelector, ...[...value.spec.ingress, ...value.spec.egress].flatMap((rule) => rule.from ?? rule.to)
      .map((peer) => peer.podSelector).filter(Boolean)].map((each) => each.matchLabels) : []);
  for (const { value } of all) {
    for (const selector of wanted(value))
      if (!pods.some((pod) => isPart(selector, pod.labels))) faults.push(`${value.kind} ${value.metadata.name} selects nothing: ${JSON.stringify(selector)}`);
    for (const port of value.kind === "Service" ? value.spec.ports : [])
      if (!portNames.has(port.targetPort)) faults.push(`Service ${value.metadata.name}: no port ${port.targetPort}`);
  }
  for (const pod of pods) {
    if (!isPart(pod.selector, pod.labels)) faults.push(`${pod.name} does not select its own pods`);
    faults.push(...volumeFaults(pod));
  }
  return faults;
}

function volumeFaults({ name, spec, claims = [] }) {
  const given = new Set([...claims, ...(spec.volumes ?? []).map((each) => each.name)]);
  const used = spec.containers.flatMap((each) => each.volumeMounts.map((mount) => mount.name));
  return [...used.filter((each) => !given.has(each)).map((each) => `${name}: no volume ${each}`),
    ...[...given].filter((each) => !used.includes(each)).map((each) => `${name}: volume ${each} is not used`)];
}

function hardeningFaults(all) {
  const faults = [];
  for (const { value } of all) {
    const spec = value.spec?.template?.spec ?? value.spec?.podTemplate?.spec;
    for (const { name, securityContext } of spec?.containers ?? []) {
      if (securityContext.allowPrivilegeEscalation !== false || !securityContext.capabilities.drop.includes("ALL")) faults.push(`${name} has privileges`);
      if (securityContext.procMount === "Unmasked" && spec.hostUsers !== false) faults.push(`${name}: Kubernetes refuses an unmasked /proc here`);
    }
  }
  return faults;
}

const all = read();
for (const each of all) {
  const name = `${each.file}: ${each.value.kind} ${each.value.metadata.name}`;
  test(`${name} has valid values`, validationFaults(each));
  test(`${name} has only known fields`, typeFaults(each.value));
}
const misspelt = structuredClone(all.find(({ value }) => value.kind === "StatefulSet").value);
misspelt.spec.template.spec.containers[0].securityContext.procMounts = "Unmasked";
test("a misspelt field would be found", typeFaults(misspelt).length ? [] : ["it was not"]);
test("selectors, ports and volumes fit together", fitFaults(all));
test("the template's volumes fit together", volumeFaults({ name: "agent-sandbox", spec: all.find(({ value }) => value.spec?.podTemplate).value.spec.podTemplate.spec }));
test("nothing has privileges", hardeningFaults(all));
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
