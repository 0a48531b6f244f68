// Pages in headless Chromium, one at a time. Reads `[method of Playwright's page, its arguments]` from each line, and prints what comes
// of it. `open` leaves the page and all that it stored for a new one.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [program, packages] = process.argv.slice(2);
const { chromium } = createRequire(packages)("playwright-core");
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] }); // a container has no other
let page, problems;

async function open() {
  await page?.context().close();
  page = await browser.newPage({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true });
  const said = (problems = []);
  page.on("console", (message) => message.type() === "error" && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.setDefaultTimeout(20_000);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [method, args] = JSON.parse(line);
  try {
    const result = method === "problems" ? problems : await (method === "open" ? open() : page[method](...args));
    const isPlain = ["string", "boolean", "number"].includes(typeof result) || Array.isArray(result);
    console.log(JSON.stringify({ result: isPlain ? result : null }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await browser.close();
