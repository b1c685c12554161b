#include "admin/live_page.hpp"

namespace sluice::admin {

namespace {

constexpr std::string_view nonce_place = "@NONCE@";

// Every value that comes from outside reaches the page through textContent.
constexpr std::string_view document = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<style nonce="@NONCE@">
:root { color-scheme: light dark; --line: #8884; --use: #2a7de1; --kv: #1fa97c; --wait: #e08a1e; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 72rem;
  padding: 0 1rem; }
h1 { font-size: 1.25rem; margin: 0 0 1rem; }
#link { font-size: .8rem; font-weight: normal; opacity: .7; margin-left: .7rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--line); }
th { font-size: .75rem; text-transform: uppercase; letter-spacing: .04em; opacity: .7; }
tr.pool td { font-weight: 600; padding-top: 1rem; }
tr.worker td:first-child { padding-left: 1.6rem; }
tr.queue td { color: var(--wait); }
.bar { background: var(--line); border-radius: 3px; height: .55rem; min-width: 7rem; }
.bar > div { border-radius: 3px; height: 100%; width: 0; transition: width .2s; }
.use { background: var(--use); } .kv { background: var(--kv); }
.note { font-size: .8rem; opacity: .75; font-variant-numeric: tabular-nums; }
.suspect, .draining { color: var(--wait); }
</style>
</head>
<body>
<h1>Sluice<span id="link">connecting</span></h1>
<table>
<thead><tr><th>Pool / worker</th><th>State</th><th>Slots</th><th>KV cache</th>
<th>Waiting high · normal · low</th><th>Grants/s</th></tr></thead>
<tbody id="rows"></tbody>
</table>
<noscript>The numbers are at /api/v1/pools, /api/v1/workers, /api/v1/queue.</noscript>
<script nonce="@NONCE@">
'use strict';
const rows = document.getElementById('rows');
const link = document.getElementById('link');

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}
function cell(row, text, kind) {
  row.append(element('td', kind, text));
}
function short(n) {
  if (n === null) return 'unknown';
  const units = ['', ' k', ' M', ' G', ' T'];
  let at = 0;
  while (n >= 10000 && at < units.length - 1) { n /= 1000; at += 1; }
  return Math.round(n) + units[at];
}
function bar(row, kind, used, whole) {
  const td = element('td');
  const frame = element('div', 'bar');
  const fill = element('div', kind);
  fill.style.width = (whole ? Math.min(100, 100 * used / whole) : 0) + '%';
  frame.append(fill);
  td.append(frame, element('div', 'note', short(used) + ' of ' + short(whole)));
  row.append(td);
}
function poolRow(pool) {
  const row = element('tr', 'pool');
  cell(row, pool.name);
  cell(row, pool.models.join(', '), 'note');
  bar(row, 'use', pool.in_use, pool.slots);
  bar(row, 'kv', pool.kv_reserved, pool.kv_capacity);
  const w = pool.waiting;
  const sum = w.high + w.normal + w.low;
  cell(row, w.high + ' · ' + w.normal + ' · ' + w.low
    + (sum ? '  (oldest ' + (pool.oldest_wait_ms / 1000).toFixed(1) + ' s)' : ''));
  cell(row, pool.grants_per_s.toFixed(1));
  return row;
}
function workerRow(worker) {
  const row = element('tr', 'worker');
  cell(row, worker.id);
  cell(row, worker.state, worker.state);
  bar(row, 'use', worker.in_use, worker.slots);
  bar(row, 'kv', worker.kv_reserved, worker.kv_capacity);
  cell(row, '');
  cell(row, '');
  return row;
}
function queueRow(ticket) {
  const row = element('tr', 'queue');
  cell(row, ticket.position + '. ' + ticket.id);
  cell(row, ticket.class + (ticket.tenant ? ' · ' + ticket.tenant : ''));
  cell(row, '1 slot');
  cell(row, short(ticket.kv_bytes));
  cell(row, 'waits ' + (ticket.waited_ms / 1000).toFixed(1) + ' s');
  cell(row, '');
  return row;
}
function show(state) {
  const all = [];
  for (const pool of state.pools) {
    all.push(poolRow(pool));
    for (const w of state.workers) if (w.pool === pool.name) all.push(workerRow(w));
    const queue = state.queue.filter((t) => t.pool === pool.name);
    for (const t of queue.slice(0, 10)) all.push(queueRow(t));
  }
  rows.replaceChildren(...all);
}
const source = new EventSource('/api/v1/events');
source.onopen = () => { link.textContent = 'live'; };
source.onerror = () => { link.textContent = 'connection lost, trying again'; };
source.onmessage = (event) => { show(JSON.parse(event.data)); };
</script>
</body>
</html>
)page";

}  // namespace

std::string live_page(std::string_view nonce) {
    std::string page;
    std::string_view rest = document;
    for (std::size_t at = rest.find(nonce_place); at != rest.npos; at = rest.find(nonce_place)) {
        page.append(rest.substr(0, at)).append(nonce);
        rest.remove_prefix(at + nonce_place.size());
    }
    return page.append(rest);
}

std::string live_page_policy(std::string_view nonce) {
    std::string policy = "default-src 'none'; connect-src 'self'; base-uri 'none'; ";
    policy.append("form-action 'none'; frame-ancestors 'none'; style-src 'nonce-").append(nonce);
    policy.append("'; script-src 'nonce-").append(nonce).append("'");
    return policy;
}

}  // namespace sluice::admin
