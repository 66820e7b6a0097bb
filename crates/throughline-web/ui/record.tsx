// A record by its id: leads to its place in its session.

import type { JSX } from "preact";
import { get } from "./api";
import { failure } from "./notice";
import { onScreen, open, sessionPath } from "./route";

onScreen("r", (id) => {
  if (!id) return;
  get<{ session_id: string }>(`/memory/record/${id}`)
    .then((record) => open(sessionPath(record.session_id, id), true))
    .catch(failure);
});

export function RecordScreen(): JSX.Element {
  return <main aria-busy="true"><h1>Record</h1></main>;
}
