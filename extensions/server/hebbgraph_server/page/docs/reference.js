// Draws openapi.json as a page on which each path can be tried.

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

const api = await (await fetch("/v1/openapi.json")).json();
const resolve = (schema) =>
  schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;

function kindOf(schema) {
  schema = schema ?? {};
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kindOf).filter((kind) => kind !== "null").join(" or ");
  if (schema.type === "array") return `list of ${kindOf(schema.items)}`;
  return schema.enum?.join(", ") ?? schema.type ?? "any";
}

function example(schema) {
  const body = {};
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    if (field.examples) body[name] = field.examples[0];
    else if (schema.required?.includes(name)) body[name] = field.type === "array" ? [] : "";
  }
  return JSON.stringify(body, null, 2);
}

function fields(rows) {
  return element("table", {}, ...rows.map(([name, schema, text]) => element("tr", {},
    element("td", {}, element("code", { textContent: name })),
    element("td", { textContent: kindOf(schema) }),
    element("td", { textContent: text ?? "" }))));
}

function tryIt(path, method, operation) {
  const parameters = (operation.parameters ?? []).map((parameter) => {
    const input = element("input", { className: "parameter", placeholder: parameter.name });
    input.setAttribute("aria-label", parameter.name);
    return { parameter, input };
  });
  const content = operation.requestBody?.content ?? {};
  const json = content["application/json"];
  const kind = json ? "application/json" : Object.keys(content)[0];
  const body = kind && element("textarea", {
    rows: 6, value: json ? example(resolve(json.schema)) : "# A title\n\nA text.",
  });
  body?.setAttribute("aria-label", "body");
  const answer = element("pre", { hidden: true });
  const send = element("button", { textContent: "Send" });
  send.onclick = async () => {
    let target = path;
    const query = new URLSearchParams();
    for (const { parameter, input } of parameters) {
      if (parameter.in === "path") {
        target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      } else if (input.value) query.set(parameter.name, input.value);
    }
    const token = document.getElementById("token").value;
    const headers = { ...(token && { Authorization: `Bearer ${token}` }) };
    if (kind) headers["Content-Type"] = kind;
    const response = await fetch(`${target}?${query}`, {
      method: method.toUpperCase(), headers, body: body?.value,
    });
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* metrics are text */ }
    answer.textContent = `${response.status}\n${shown}`;
    answer.hidden = false;
  };
  return [...parameters.map(({ input }) => input), ...(body ? [body] : []), send, answer];
}

document.getElementById("about").textContent = api.info.description;
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const schema = resolve(operation.requestBody?.content["application/json"]?.schema);
    document.getElementById("paths").append(element("details", {},
      element("summary", {},
        element("code", { textContent: `${method.toUpperCase()} ${path}` }), " ",
        element("small", { textContent: operation.tags?.join() ?? "" })),
      element("p", { textContent: operation.description ?? "" }),
      fields((operation.parameters ?? []).map((one) => [one.name, one.schema, one.description])),
      fields(Object.entries(schema?.properties ?? {}).map(
        ([name, field]) => [name, field, field.description])),
      ...tryIt(path, method, operation)));
  }
}
