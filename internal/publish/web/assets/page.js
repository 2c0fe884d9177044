'use strict';
// Keeps a page up to date. The daemon sends the version of the page whenever it changes; the script then loads the page
// again and replaces the sections that differ. Without the script the page works, and shows the state of its time.
(() => {
  const connection = document.getElementById('connection');
  const initial = document.body.dataset.version;
  let version = initial;
  let waiting = false; // a section was not replaced, because it has the focus
  let loading = false;
  let again = false;

  // tell shows a text in a place that screen readers read aloud, unless the text is there already.
  function tell(place, text) {
    if (place.textContent !== text) place.textContent = text;
  }

  // states returns the states that a reader is told about when they change, by what they belong to.
  function states() {
    return new Map([...document.querySelectorAll('[data-say]')].map(e => [e.dataset.say, e.textContent]));
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // plot draws the completed local jobs from the table of their numbers.
  function plot() {
    const place = document.getElementById('plot');
    if (!place || typeof uPlot === 'undefined') return;
    const rows = [...document.querySelectorAll('#completed tr[data-at]')];
    place.replaceChildren();
    if (rows.length < 2) return;
    const data = [rows.map(r => Number(r.dataset.at) / 1000), rows.map(r => Number(r.dataset.n))];
    const line = {stroke: color('--line'), width: 1};
    const axis = {stroke: color('--text'), grid: line, ticks: line};
    const two = n => String(n).padStart(2, '0');
    const clock = (u, times, i, space, step) => times.map(t => {
      const d = new Date(t * 1000);
      if (step >= 86400) return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
      return `${two(d.getHours())}:${two(d.getMinutes())}` + (step < 60 ? `:${two(d.getSeconds())}` : '');
    });
    const whole = [1, 2, 5].map(n => [0, 1, 2, 3, 4, 5, 6].map(e => n * 10 ** e)).flat().sort((a, b) => a - b);
    new uPlot({
      width: Math.max(280, Math.min(place.clientWidth, 960)), height: 240, legend: {show: false},
      cursor: {show: false}, scales: {y: {range: (u, low, high) => [0, Math.max(1, high)]}},
      axes: [{...axis, values: clock, space: 80, incrs: [1, 5, 10, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200,
        86400, 172800, 604800]}, {...axis, incrs: whole}],
      series: [{}, {label: 'completed', stroke: color('--running'), width: 2, points: {show: false},
        paths: uPlot.paths.stepped({align: 1})}],
    }, data, place);
  }

  // replace puts the sections of a newer page in the place of those that differ. A section with the focus stays until
  // the focus leaves it, and an open list of details stays open.
  function replace(page) {
    waiting = false;
    const before = states();
    for (const old of document.querySelectorAll('[data-live]')) {
      const next = page.getElementById(old.id);
      if (!next || old.outerHTML === next.outerHTML) continue;
      if (old.contains(document.activeElement)) {
        waiting = true;
        continue;
      }
      for (const details of old.querySelectorAll('details[open]')) {
        const same = details.id && next.querySelector('#' + details.id);
        if (same) same.open = true;
      }
      old.replaceWith(document.adoptNode(next));
    }
    const news = [...states()].filter(([what, state]) => before.has(what) && before.get(what) !== state);
    if (news.length > 0) tell(document.getElementById('news'), news.slice(0, 3).map(n => n.join(': ')).join('. '));
    plot();
  }

  async function load() {
    if (loading) {
      again = true;
      return;
    }
    loading = true;
    try {
      const answer = await fetch(location.href, {headers: {Accept: 'text/html'}, cache: 'no-store'});
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (answer.ok) {
        version = page.body.dataset.version;
        replace(page);
        tell(connection, '');
      } else {
        tell(connection, page.querySelector('main p')?.textContent ?? 'The page is no longer available.');
      }
    } catch {
      tell(connection, 'The daemon does not answer: the page is not up to date.');
    }
    loading = false;
    if (again) {
      again = false;
      load();
    }
  }

  function listen() {
    const source = new EventSource('/live' + location.pathname + location.search);
    source.addEventListener('version', e => {
      if (e.data !== version) load();
      else tell(connection, '');
    });
    source.onerror = () => {
      tell(connection, 'Live updates are interrupted: the page may not be up to date.');
      if (source.readyState !== EventSource.CLOSED) return; // the browser connects again
      source.close();
      setTimeout(listen, 30000);
    };
    addEventListener('pagehide', () => source.close(), {once: true});
  }

  document.addEventListener('focusout', () => { if (waiting) setTimeout(load, 0); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', plot);
  plot();
  if (initial) listen();
})();
