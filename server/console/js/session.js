/* Whose session it is, and what went wrong in a view. Pure. */

/** Whether another key is signed in: another tab may have changed it. */
export const isOther = (mine, theirs) => ["role", "account", "name", "primary"].some((member) => mine[member] !== theirs[member])
  || ["offers", "changes"].some((member) => mine[member].join() !== theirs[member].join());

/** A role's name as a person writes it: "Billing" of "SubuserBilling" and "SubuserAPIBilling". */
export const inWords = (role) => role?.replace(/^Subuser(API)?|Api$/g, "").replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The errors of a view by the path that gave them: one that answers well again takes its own away and no other.
 * take(answer): whether what is to be said may have changed; clear(): they were another address's; all(): the answers to be
 * said, each sentence once. */
export function troubles() {
  const wrong = new Map();
  return {
    take(answer) {
      if (answer.cancelled || answer.lost || answer.status === 401) return false;
      const path = answer.path ?? "";
      if (answer.ok) return wrong.delete(path);
      wrong.set(path, answer);
      return true;
    },
    clear: () => wrong.clear(),
    all: () => [...wrong.values()].filter((one, at, all) => all.findIndex((other) => other.message === one.message) === at),
  };
}
