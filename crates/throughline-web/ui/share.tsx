// Sharing a session: first a look at every mark in its context, then one file without script.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type RedactionReview, type Session, get, getFile, query } from "./api";
import { closeDialog, openDialog } from "./dialog";
import { failure, show } from "./notice";
import { Skeleton } from "./state";
import { count, kindName, visible } from "./text";

const review = signal<RedactionReview | undefined>(undefined);
const leftOut = signal<ReadonlySet<number>>(new Set());

function toggle(n: number): void {
  const next = new Set(leftOut.value);
  if (!next.delete(n)) next.add(n);
  leftOut.value = next;
}

async function download(session: Session, format: "html" | "markdown"): Promise<void> {
  try {
    const path = query(`/sessions/${encodeURIComponent(session.id)}/transcript`, { format, leave_out: [...leftOut.value].join(",") });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await getFile(path));
    link.download = `${(session.name ?? session.title ?? "session").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.${format === "html" ? "html" : "md"}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    closeDialog();
    show("The file was saved; it contains no script and loads nothing");
  } catch (error) {
    failure(error);
  }
}

function LeaveOut({ n }: { n: number }): JSX.Element {
  return <label class="leave-out"><input type="checkbox" checked={leftOut.value.has(n)} onChange={() => toggle(n)} /> leave out record {n + 1}</label>;
}

function Review({ session }: { session: Session }): JSX.Element {
  const found = review.value;
  if (!found) return <Skeleton rows={4} />;
  const secrets = new Set(found.marks.map((mark) => mark.mark));
  return (
    <div class="share">
      <p>
        {found.marks.length === 0
          ? `No secret was found in the ${count(found.records, "record")} of this session.`
          : `${count(secrets.size, "secret")} ${secrets.size === 1 ? "was" : "were"} removed in ${count(found.marks.length, "place")}${found.more ? " or more" : ""}. Look at the text around each mark: what is beside it is shared.`}
        {found.sensitive.length > 0 && ` ${count(found.sensitive.length, "record")} may contain a secret that no rule knows.`}
      </p>
      <ul class="marks" tabIndex={0} aria-label="Marks in their context">
        {found.sensitive.map((n) => <li><span class="kind">may be sensitive</span> <LeaveOut n={n} /></li>)}
        {found.marks.map((mark) => (
          <li>
            <span class="kind">{kindName(mark.type)}</span>
            <code>{visible(mark.before)}{visible(mark.mark)}{visible(mark.after)}</code>
            <LeaveOut n={mark.n} />
          </li>
        ))}
      </ul>
      <p class="actions">
        <button type="button" class="primary" onClick={() => void download(session, "html")}>Save as HTML</button>
        <button type="button" onClick={() => void download(session, "markdown")}>Save as Markdown</button>
        <button type="button" onClick={closeDialog}>Cancel</button>
        {leftOut.value.size > 0 && <span class="faint">{count(leftOut.value.size, "record")} left out</span>}
      </p>
    </div>
  );
}

export async function shareSession(session: Session): Promise<void> {
  review.value = undefined;
  leftOut.value = new Set();
  openDialog("Review before sharing", () => <Review session={session} />, true);
  try {
    review.value = await get<RedactionReview>(`/sessions/${encodeURIComponent(session.id)}/redactions`);
    leftOut.value = new Set(review.value.sensitive);
  } catch (error) {
    closeDialog();
    failure(error);
  }
}
