// Checks AsyncAPI documents with the official parser and the official JSON Schema, and messages
// with a document's schemas. Prints one line a document; exits with 1 if anything is wrong.
//
//     node validate.mjs FOLDER CASES
//
// FOLDER holds node_modules. CASES is a list of {name, document, error?}, the document as text;
// with `error` the document has to be refused, every error saying so. With `message`, a pointer to
// a message of the document, also of {accepted, attributes, refused: [[what, message]]}.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, cases] = process.argv.slice(2);
const require = createRequire(resolve(folder, "package.json"));
const { Parser } = require("@asyncapi/parser");
const specs = require("@asyncapi/specs");
const Ajv = require("ajv").default;
const addFormats = require("ajv-formats").default;

// 0 is an error, 1 a warning. What is below (a newer AsyncAPI exists) is advice.
const WARNING = 1;

const newAjv = () => addFormats(new Ajv({ allErrors: true, strict: false }));

// The parser changes the schemas it has been handed, so the copy is made before it runs.
const officialSchema = structuredClone(specs.schemas["3.0.0"]);
delete officialSchema.definitions["http://json-schema.org/draft-07/schema"];
const official = newAjv().compile(officialSchema);

const show = (errors) => errors.map((one) => `${one.instancePath} ${one.message}`).join("; ");

async function parserErrors(text) {
  const { document, diagnostics } = await new Parser().parse(text);
  const errors = diagnostics
    .filter((one) => one.severity <= WARNING)
    .map((one) => `${one.path.join(".")}: ${one.message}`);
  if (!document && errors.length === 0) errors.push("no document, and no reason");
  return errors;
}

function schemaErrors(document) {
  return official(document) ? [] : [`by the JSON Schema: ${show(official.errors)}`];
}

function messageErrors(document, { message, accepted, attributes, refused }) {
  const ajv = newAjv();
  ajv.addSchema(document, "document");
  const errors = [];
  const payload = ajv.compile({ $ref: `document#${message}/payload` });
  for (const one of accepted) {
    if (!payload(one)) errors.push(`a message is refused: ${show(payload.errors)}`);
  }
  for (const [what, one] of refused) {
    if (payload(one)) errors.push(`a wrong message is accepted: ${what}`);
  }
  const headers = ajv.compile({ $ref: `document#${message}/headers` });
  for (const one of attributes) {
    if (!headers(one)) errors.push(`attributes are refused: ${show(headers.errors)}`);
  }
  return errors;
}

let wrong = false;
for (const one of JSON.parse(readFileSync(cases, "utf8"))) {
  const document = JSON.parse(one.document);
  let errors = await parserErrors(one.document);
  if (one.error) {
    const expected = errors.filter((error) => error.includes(one.error));
    if (expected.length === 0) errors.push(`is not refused for want of: ${one.error}`);
    errors = errors.filter((error) => !error.includes(one.error));
  } else {
    errors.push(...schemaErrors(document));
  }
  if (one.message) errors.push(...messageErrors(document, one));
  wrong ||= errors.length > 0;
  console.log(`a document ${one.name}: ${errors.length === 0 ? "as expected" : errors.join("\n  ")}`);
}
process.exit(wrong ? 1 : 0);
