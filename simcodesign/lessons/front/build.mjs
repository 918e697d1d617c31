// Bundles the front end of lessons into ../bundle: `npm install && npm run build` in this folder, after every change.
// The first line of both files has the hash of the sources; tests/lessons/test_bundle.py holds it against them.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const own = /\.(js|mjs|css)$|^package\.json$/;
const files = readdirSync(".", { recursive: true })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => !name.startsWith("node_modules") && own.test(name) && statSync(name).isFile())
  .sort();
const hash = createHash("sha256");
for (const name of files) hash.update(`${name}\n`).update(readFileSync(name)).update("\n");
const versions = Object.entries(JSON.parse(readFileSync("package.json")).devDependencies)
  .map(([name, version]) => `${name} ${version}`)
  .join(", ");
const banner = `/* sources sha256:${hash.digest("hex")}; ${versions} */`;

const options = { bundle: true, minify: true, legalComments: "inline", target: "es2022", write: false };
const script = await build({ ...options, entryPoints: ["main.js"], format: "iife" });
const style = await build({ ...options, entryPoints: ["lesson.css"], loader: { ".woff2": "dataurl" } });
// A script inside a page ends at the first such tag, whatever it stands in.
const text = script.outputFiles[0].text.replaceAll("</script", "<\\/script");
writeFileSync("../bundle/lesson.js", `${banner}\n${text}`);
writeFileSync("../bundle/lesson.css", `${banner}\n${style.outputFiles[0].text}`);
for (const name of ["lesson.js", "lesson.css"]) console.log(name, statSync(`../bundle/${name}`).size);
