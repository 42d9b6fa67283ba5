/* What is said of a deployment, from the answer of GET /mc/apps/{appId}/deployment. Pure. */

import {NOTHING, time} from "./format.js";

/** Whether it is worth looking again soon. */
export const isOpen = (deployment) => deployment.state === "waiting" || deployment.state === "running";

/** One sentence on how it stands; its time in this zone. */
export function stands(deployment, zone = "UTC") {
  const at = deployment.endedAt ? time(deployment.endedAt, zone, true) : NOTHING;
  const status = deployment.exitStatus === null ? "without an exit status" : `with exit status ${deployment.exitStatus}`;
  switch (deployment.state) {
    case "waiting": return "It has not begun.";
    case "running": return "It runs. So far it printed:";
    case "ended": return deployment.succeeded ? `It succeeded, ${status}, at ${at}.` : `It failed, ${status}, at ${at}: ${deployment.reason}.`;
    default: return "No output of a deployment is kept here.";
  }
}

/** What it printed, as one text; what stands there instead where it printed nothing. */
export function printed(deployment) {
  if (deployment.output.length) return deployment.output.join("\n");
  return deployment.state === "ended" ? "It printed nothing." : "";
}
