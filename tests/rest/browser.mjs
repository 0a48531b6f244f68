// A page in headless Chromium. Reads `[method of Playwright's page, its arguments]` from each line, and prints what comes of it.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [program, packages] = process.argv.slice(2);
const { chromium } = createRequire(packages)("playwright-core");
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] }); // a container has no other
const page = await browser.newPage({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true });
const problems = [];
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("pageerror", (error) => problems.push(String(error)));
page.setDefaultTimeout(20_000);

for await (const line of createInterface({ input: process.stdin })) {
  const [method, args] = JSON.parse(line);
  try {
    const result = method === "problems" ? problems : await page[method](...args);
    const isPlain = ["string", "boolean", "number"].includes(typeof result) || Array.isArray(result);
    console.log(JSON.stringify({ result: isPlain ? result : null }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await browser.close();
