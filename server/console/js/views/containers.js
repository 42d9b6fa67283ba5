/* Container applications: what they are, what the account may have, and deploying one with its output. */

import {pageHead, panel} from "../controls.js";
import {isOpen, printed, stands} from "../deployment.js";
import {announce, el, figure, fill} from "../dom.js";
import {NOTHING, bytes, number} from "../format.js";
import {table} from "../table.js";

const SAYS = {active: "runs", inactive: "does not run", progressing: "is being deployed", failing: "the deployment failed", suspended: "suspended", unknown: "unknown"};

const LIMITS = [
  ["existingNumberOfApplications", "Applications", number], ["maxNumberOfApplications", "Applications at most", number],
  ["maxNumberOfRegionsPerApplication", "Regions of an application", number], ["maxNumberOfInstancesPerRegion", "Instances in a region", number],
  ["maxNumberOfInstancesPerApplication", "Instances of an application", number], ["maxCpuMilliCoresPerPod", "Processor of a pod", (value) => `${number(value / 1000)} CPU`],
  ["maxMemoryBytesPerPod", "Memory of a pod", bytes], ["maxNumberOfVolumesPerApplication", "Volumes of an application", number],
  ["maxVolumeSize", "Size of a volume", (value) => `${number(value)} GB`],
];

export function show(page) {
  const said = new Map(); // id -> what became of what was asked here
  let apps = [];
  const hasLimits = page.offers("limits"), limits = el("dl", {class: "facts"});
  const t = table({label: "Container applications", name: "containers", page, sort: "name",
    empty: "No application yet. Your provider adds applications to this account.",
    columns: [
      {id: "name", name: "Name", value: (row) => row.name},
      {id: "id", name: "ID", value: (row) => row.id},
      {id: "status", name: "Status", value: (row) => row.status, cell: status},
      {id: "endpoint", name: "Endpoint", value: (row) => row.displayEndpoint?.address ?? null},
      {id: "description", name: "Description", value: (row) => row.description, wide: true},
      {id: "deploy", name: "Deploy", value: () => null, sort: false, acts: true, cell: (row) => el("button", {type: "button",
        disabled: row.status === "suspended" || row.status === "progressing", "aria-label": `Deploy ${row.name}`, onclick: () => deploy(row)}, "Deploy")},
      {id: "output", name: "Output", value: () => null, sort: false, acts: true, cell: (row) => el("button", {type: "button", class: "quiet",
        "aria-label": `Output of ${row.name}`, "aria-pressed": String(row.id === page.query.get("app")),
        onclick: () => page.set({app: row.id === page.query.get("app") ? null : row.id})}, "Output")},
    ],
    rowData: (row) => ({app: row.id})});

  function status(row) {
    return el("span", {class: `chip${row.status === "failing" || row.status === "suspended" ? " warn" : row.status === "inactive" ? "" : " on"}`, data: {field: "status", value: row.status}},
      SAYS[row.status] ?? row.status, row.status === "progressing" ? " …" : "");
  }

  async function all() {
    const found = [];
    let cursor = null;
    do {
      const answer = await page.get("/mc/apps", {query: {limit: 1000, nextCursor: cursor}});
      if (!answer.ok) return answer;
      found.push(...answer.data.items);
      cursor = answer.data.cursor;
    } while (cursor);
    return {ok: true, data: found};
  }

  /* While something is under way it is looked at often, else now and then. */
  let timer = 0;
  let turn = 0; // of several looks at once the last goes on
  async function look() {
    const mine = ++turn;
    clearTimeout(timer);
    const answer = await all();
    if (page.signal.aborted || answer.cancelled || mine !== turn) return;
    if (!page.failed(answer)) {
      apps = answer.data;
      apps.forEach(tell);
      t.set(apps);
    }
    await lookAt();
    if (page.signal.aborted || mine !== turn) return;
    timer = setTimeout(function again() {
      if (document.visibilityState === "visible") look();
      else document.addEventListener("visibilitychange", again, {once: true, signal: page.signal});
    }, said.size || open ? 1000 : 30000);
  }
  page.signal.addEventListener("abort", () => clearTimeout(timer));

  /* What the deployment of the application in the address prints; at its end, as long as it is followed. */
  const output = el("pre", {tabindex: 0, "aria-label": "Output"}), state = el("p", {data: {field: "deployment"}});
  const shown = panel("Deployment", state, output);
  let open = false;
  shown.hidden = true;
  async function lookAt() {
    const id = page.query.get("app"), name = apps.find((app) => app.id === id)?.name;
    shown.hidden = name === undefined;
    if (shown.hidden) return void (open = false);
    const answer = await page.get(`/mc/apps/${encodeURIComponent(id)}/deployment`);
    if (id !== page.query.get("app") || page.failed(answer)) return;
    open = isOpen(answer.data);
    shown.querySelector("h2").textContent = `Deployment of ${name}`;
    state.dataset.value = answer.data.state;
    state.className = answer.data.succeeded === false ? "error" : "";
    state.textContent = stands(answer.data, page.zone);
    const text = printed(answer.data), follows = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
    output.hidden = !text;
    if (output.textContent === text) return;
    output.textContent = text;
    if (follows) output.scrollTop = output.scrollHeight;
  }

  const news = el("ul", {class: "news", "aria-label": "What was deployed"});
  function tell(app) {
    const line = said.get(app.id);
    if (!line || app.status === "progressing") return;
    said.delete(app.id);
    const text = app.status === "active" ? `${app.name} runs.`
      : `${app.name}: ${SAYS[app.status]}. What it printed is under Output.`;
    fill(line, el("span", {class: app.status === "active" ? null : "error"}, text));
    announce(text);
  }

  async function deploy(app) {
    const line = el("li", {class: "notice"}, `${app.name} is being deployed. `, el("progress", {"aria-label": `Deploying ${app.name}`}));
    const answer = await page.post(`/mc/apps/${encodeURIComponent(app.id)}/deploy`);
    if (page.failed(answer) || !answer.ok) return;
    news.prepend(line);
    said.set(app.id, line);
    if (app.id === page.query.get("app")) look();
    else page.set({app: app.id});
  }

  async function showLimits() {
    const answer = await page.get("/mc/limits");
    if (!page.failed(answer)) fill(limits, LIMITS.filter(([name]) => name in answer.data).map(([name, label, format]) => {
      const value = answer.data[name];
      return [el("dt", {}, label), el("dd", {}, figure(name, value, value === null ? "no limit" : format(value) ?? NOTHING, String(value)))];
    }));
  }

  page.root.append(pageHead(page, "Containers"), news, el("section", {class: "panel"}, t.node), shown,
    panel("Limits", hasLimits ? limits : el("p", {class: "soft"}, "This account has no limits of its own.")));
  look();
  if (hasLimits) showLimits();
  return {again: look, update() {
    t.set(apps);
    look();
  }};
}
