// A record by its id: leads to its place in its session.

import type { JSX } from "preact";
import { get } from "./api";
import { onScreen, open, sessionPath } from "./route";
import { Show, load, loaded } from "./state";

const record = loaded<{ session_id: string }>();

onScreen("r", (id) => {
  if (!id) return;
  record.value = {};
  void load(record, get<{ session_id: string }>(`/memory/record/${id}`)).then(() => {
    const found = record.value.value;
    if (found) open(sessionPath(found.session_id, id), true);
  });
});

export function RecordScreen(): JSX.Element {
  return <main aria-busy="true"><h1>Record</h1><Show of={record}>{() => null}</Show></main>;
}
