// Tags: corrections as a log that can be undone.
import { get, may, post } from "./api.js";
import { count, empty, field, h, moment, put, settled, some, tagLink } from "./dom.js";
import { formats } from "./formats.js";

const MOST = 10_000;

export function showTags(view, parameters) {
  const search = h("input", { type: "search", maxlength: 512, value: parameters.get("tag") || "" });
  const list = h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Tags" });
  const log = h("div");
  const chosen = new Set(parameters.get("tag") ? [parameters.get("tag")] : []);
  const into = h("input", { type: "text", maxlength: 512 });
  const chunks = h("textarea", { rows: 3, spellcheck: "false" });
  const status = h("p", { role: "status" });
  const picked = h("p", { "aria-live": "polite" });
  const kinds = [["merge", "Merge", "One tag replaces all of them."],
    ["rename", "Rename", "A new name; questions may use both."],
    ["mute", "Mute", "Passages and questions no longer name it."],
    ["split", "Split", "Some of its passages get another tag."]];
  const kind = h("fieldset.kinds", h("legend", "Correction"), kinds.map(([name, label, about], at) =>
    h("label", h("input", { type: "radio", name: "kind", value: name, checked: at === 0, onchange: shape }),
      h("b", label), h("small", about))));
  const intoField = field("Into", into);
  const chunksField = field("Ids of these passages, one a line", chunks);
  const submit = h("button.primary", "Correct");
  const chosenKind = () => kind.querySelector("input:checked").value;

  const corrects = may("write");
  put(view, h(corrects ? "div.pair.wide" : "div",
    h("section", h("h2", corrects ? "Choose tags" : "Tags"), field("Find", search), list),
    corrects && h("section",
      h("form", {
        onsubmit: async (event) => {
          event.preventDefault();
          await correct();
        },
      }, picked, kind, intoField, chunksField, h("div.row", submit), status))),
  h("section", h("h2", "Corrections in force"), log));
  shape();
  search.addEventListener("input", settled(180, () => find()));
  return Promise.all([find(), listLog()]);

  function shape() {
    const now = chosenKind();
    intoField.hidden = now === "mute";
    chunksField.hidden = now !== "split";
    const single = now === "rename" || now === "split";
    put(picked, chosen.size ? [...chosen].map((tag) => [tagLink(tag), " "]) : "Choose a tag first.");
    submit.disabled = !chosen.size || (single && chosen.size > 1);
    if (single && chosen.size > 1) put(picked, `${now} takes single tag, ${chosen.size} are chosen.`);
  }

  async function find(limit = 200) {
    try {
      const { tags } = await post("tags", { containing: search.value.trim(), limit });
      put(list, tags.length ? h("ul.plain.tags", { "aria-label": some(tags.length, "tag") }, tags.map((match) => h("li", h(corrects ? "label" : "div",
        corrects && h("input", {
          type: "checkbox",
          checked: chosen.has(match.tag),
          onchange: (event) => {
            if (event.target.checked) chosen.add(match.tag);
            else chosen.delete(match.tag);
            shape();
          },
        }), corrects ? h("span", { dir: "auto" }, match.tag) : tagLink(match.tag), h("small", some(match.chunks, "passage"))))))
        : empty("No tag contains this", h("p", "Tags are found in texts when they are added.")),
      tags.length === limit && limit < MOST && h("button.link", { type: "button", onclick: () => find(MOST) },
        `Show up to ${count(MOST)}`), tags.length > 0 && formats("tags", { containing: search.value.trim(), limit }));
    } catch (problem) {
      put(list, h("p.refused", problem.message));
    }
  }

  async function correct() {
    const now = chosenKind();
    const body = { kind: now, tags: [...chosen], actor: localStorage.getItem("hebbgraph-actor") || null };
    if (now !== "mute") body.into = into.value.trim();
    if (now === "split") body.chunks = chunks.value.split("\n").map((id) => id.trim()).filter(Boolean);
    try {
      const made = await post("correct_tags", body);
      put(status, `Done: ${sentence(made)}. The texts are unchanged; undo it below.`);
      chosen.clear();
      into.value = "";
      shape();
      find();
      listLog();
    } catch (problem) {
      put(status, h("span.refused", problem.message));
    }
  }

  async function listLog() {
    try {
      const { corrections } = await get("tag_corrections");
      put(log, corrections.length ? h("ol.log", [...corrections].reverse().map((correction) => h("li",
        h("span", { dir: "auto" }, sentence(correction)),
        h("span.quiet", ` ${moment(correction.created_at)}${correction.actor ? `, ${correction.actor}` : ""}`),
        corrects && h("button", {
          type: "button",
          "aria-label": `Undo: ${sentence(correction)}`,
          onclick: async (event) => {
            event.target.disabled = true;
            await post("undo_tag_correction", { correction: correction.id }).catch((problem) => put(status, problem.message));
            find();
            listLog();
          },
        }, "Undo")))) : h("p.quiet", "None. Corrections also apply to passages added later; undoing one leaves no trace."),
      corrections.length > 0 && formats("corrections"));
    } catch (problem) {
      put(log, h("p.refused", problem.message));
    }
  }
}

function sentence(correction) {
  const named = correction.tags.map((tag) => `«${tag}»`).join(", ");
  const inside = correction.chunks.length ? ` in ${some(correction.chunks.length, "passage")}` : "";
  return `${correction.kind} ${named}${correction.into === null ? "" : ` into «${correction.into}»`}${inside}`;
}
