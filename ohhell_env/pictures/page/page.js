"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const players = data.names.length;
const byId = (id) => document.getElementById(id);
const suits = Object.keys(data.suits);
const looker = data.seat;
let place = { deal: 0, step: 0 };
let seenBy = looker;

// ---------------------------------------------------------------- pieces of the page

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function drawing(suit, className) {
  const about = data.suits[suit];
  const hue = `hue-${suits.indexOf(suit) + 1}`;
  if (!about.shape) return make("span", hue, about.symbol);
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "-.5 -.52 1 1.04");
  svg.setAttribute("class", `${className || ""} ${hue}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", about.shape);
  svg.append(path);
  return svg;
}

const rankOf = (card) => (card[0] === "T" ? "10" : card[0]);
const RANKS = { A: "ace", K: "king", Q: "queen", J: "jack" };

function spoken(card) {
  const about = data.suits[card[1]];
  if (about.word === card[1]) return card;
  const french = "♣♦♥♠".includes(about.symbol);
  return `${(french && RANKS[card[0]]) || rankOf(card)} of ${about.word}`;
}

function cardFace(card, className) {
  const face = make("span", `card ${className || ""} hue-${suits.indexOf(card[1]) + 1}`.trim());
  face.setAttribute("role", "img");
  face.setAttribute("aria-label", spoken(card) + (className === "gone" ? ", played" : ""));
  const rank = make("span", "", rankOf(card));
  face.append(rank, drawing(card[1]));
  return face;
}

function cell(tag, text, className) {
  const element = make(tag, className, text);
  if (tag === "th") element.scope = className === "row" || className === "row words" ? "row" : "col";
  return element;
}

const isCard = (name) => name.length === 2 && name[1] in data.suits;
const said = (name) => (isCard(name) ? `the ${spoken(name)}` : name);
const signed = (number) => String(number).replace("-", "−");
const difference = (number, digits) => signed(number.toFixed(digits)).replace(/^−(0(\.0+)?)$/, "$1");
const tricks = (count) => `${count} ${count === 1 ? "trick" : "tricks"}`;

// ---------------------------------------------------------------- the game at a step

const lastStep = (deal) => deal.bids.length + deal.cards.length + (deal.points ? 1 : 0);

function stateAt({ deal: number, step }) {
  const deal = data.deals[number];
  const bids = Math.min(step, deal.bids.length);
  const cards = Math.min(Math.max(step - deal.bids.length, 0), deal.cards.length);
  const done = Math.min(Math.floor(cards / players), deal.winners.length);
  const first = cards && cards % players === 0 ? cards - players : cards - (cards % players);
  const scored = Boolean(deal.points) && step === lastStep(deal);
  const state = {
    deal, number, bids, cards, scored,
    bidding: bids < players,
    bid: Array(players).fill(undefined),
    won: Array(players).fill(0),
    trick: deal.cards.slice(first, cards),
    winner: cards && cards % players === 0 ? deal.winners[done - 1] : null,
    played: new Set(deal.cards.slice(0, cards).map(([, card]) => card)),
    scores: scored ? deal.scores : number ? data.deals[number - 1].scores : Array(players).fill(0),
    actor: null,
  };
  for (const [seat, bid] of deal.bids.slice(0, bids)) state.bid[seat] = bid;
  for (const seat of deal.winners.slice(0, done)) state.won[seat] += 1;
  if (!scored) state.actor = toAct(state);
  return state;
}

function toAct({ deal, bids, cards, winner, bidding }) {
  if (bids < deal.bids.length) return deal.bids[bids][0];
  if (bidding) return (deal.dealer + 1 + bids) % players;
  if (cards < deal.cards.length) return deal.cards[cards][0];
  if (deal.points) return null;
  if (winner !== null) return winner;
  return cards ? (deal.cards[cards - 1][0] + 1) % players : null;
}

const trumpKnown = (state) => state.deal.trump !== "?" && !(data.late && state.bidding);
const bidSecret = (state, seat) => data.simultaneous && state.bidding && seenBy !== null && seat !== seenBy;

function mayShow(state, seat) {
  if (!state.deal.hands[seat]) return false;
  if (seenBy === null) return true;
  const blind = state.deal.blind && state.bidding;
  return blind ? seat !== seenBy : seat === seenBy;
}

// ---------------------------------------------------------------- sentences

function trumpWords(state) {
  if (!trumpKnown(state)) return "the trump is not known yet";
  return state.deal.trump ? `${data.suits[state.deal.trump].word} are trumps` : "no trumps";
}

function sentence(state) {
  const { deal, bids, cards, scored } = state;
  const name = (seat) => data.names[seat];
  if (scored) {
    const ends = data.names.map((who, seat) => {
      const made = state.won[seat] === state.bid[seat] ? "made" : "missed";
      return `${who} ${made} ${state.bid[seat]}, ${signed(deal.points[seat])}`;
    });
    const end = state.number === data.deals.length - 1 && data.shares ? ` ${verdict()}` : "";
    return `Deal ${deal.number} is over: ${ends.join("; ")}.${end}`;
  }
  if (cards) {
    const [seat, card] = deal.cards[cards - 1];
    const does = state.trick.length === 1 ? "leads" : "plays";
    const took = state.winner === null ? "" : ` ${name(state.winner)} wins the trick.`;
    return `${name(seat)} ${does} the ${spoken(card)}.${took}`;
  }
  if (bids) {
    const [seat, bid] = deal.bids[bids - 1];
    const said = bid === null || bidSecret(state, seat) ? "has bid" : `bids ${bid}`;
    const total = state.bidding ? "" : ` ${balance(state)}`;
    return `${name(seat)} ${said}.${total}`;
  }
  const size = `${deal.size} ${deal.size === 1 ? "card" : "cards"} each`;
  return `Deal ${deal.number}: ${size}, ${name(deal.dealer)} deals, ${trumpWords(state)}.`;
}

function verdict() {
  const winners = data.names.filter((_, seat) => data.shares[seat] > 0);
  return winners.length === 1 ? `${winners[0]} wins.` : `${winners.join(" and ")} share the win.`;
}

function balance({ deal }) {
  const total = deal.bids.reduce((sum, [, bid]) => sum + bid, 0);
  const off = total - deal.size;
  const word = off > 0 ? `over by ${off}` : off < 0 ? `under by ${-off}` : "even";
  return `The bids are ${total} of ${deal.size}, ${word}.`;
}

// ---------------------------------------------------------------- drawing

function drawFacts(state) {
  const facts = byId("facts");
  facts.replaceChildren();
  const trump = make("span");
  if (!trumpKnown(state)) trump.append("Trump not known yet");
  else if (!state.deal.trump) trump.append("No trumps");
  else {
    const suit = make("span", "card small");
    suit.append(drawing(state.deal.trump));
    trump.append("Trump", suit, data.suits[state.deal.trump].word);
  }
  facts.append(trump);
  if (state.deal.turned && trumpKnown(state)) {
    const turned = make("span", "", "turned");
    turned.append(cardFace(state.deal.turned, "small"));
    facts.append(turned);
  }
  if (!state.bidding) {
    const total = state.deal.bids.reduce((sum, [, bid]) => sum + bid, 0);
    facts.append(make("span", "", `bids ${total} of ${state.deal.size}`));
  }
}

function drawTrick(state) {
  const items = state.trick.map(([seat, card], order) => {
    const item = make("li", seat === state.winner ? "wins" : "");
    const mark = seat === state.winner ? " ★" : order === 0 ? " led" : "";
    const who = make("span", "who", data.names[seat] + mark);
    who.title = data.names[seat];
    item.append(cardFace(card), who);
    return item;
  });
  byId("trick").replaceChildren(...items);
}

function drawSeat(state, seat) {
  const acts = seat === state.actor;
  const item = make("li", acts ? "seat acts" : "seat");
  const top = make("div", "top");
  const name = make("span", "name", data.names[seat]);
  name.title = data.names[seat];
  top.append(name);
  if (seat === state.deal.dealer) top.append(make("span", "role", "dealer"));
  if (acts) top.append(make("span", "role now", state.bidding ? "to bid" : "to play"));
  const score = make("span", "score", `${signed(state.scores[seat])} `);
  score.append(make("small", "", "points"));
  top.append(score);
  item.append(top, drawBid(state, seat), drawHand(state, seat));
  return item;
}

function drawBid(state, seat) {
  const line = make("div", "bid");
  const bid = state.bid[seat], won = state.won[seat];
  if (bid === undefined) {
    line.append(make("span", "", "no bid yet"));
    return line;
  }
  if (bid === null || bidSecret(state, seat)) {
    line.append(make("span", "", "has bid"));
    return line;
  }
  line.append(make("span", "", `bid ${bid}, won ${won}`));
  const pips = make("span", "pips");
  pips.setAttribute("aria-hidden", "true");
  for (let count = 0; count < Math.max(bid, won); count += 1) {
    pips.append(make("span", count >= bid ? "pip over" : count < won ? "pip won" : "pip"));
  }
  line.append(pips);
  if (state.scored) {
    const made = bid === won;
    const points = signed(state.deal.points[seat]);
    line.append(make("span", made ? "made" : "missed", `${made ? "✓ made" : "✗ missed"}, ${points}`));
  }
  return line;
}

function drawHand(state, seat) {
  const list = make("ul", "hand");
  list.setAttribute("aria-label", `Hand of ${data.names[seat]}`);
  const shown = mayShow(state, seat);
  const played = state.deal.cards.slice(0, state.cards).filter(([who]) => who === seat);
  const faces = [];
  if (shown) {
    for (const card of state.deal.hands[seat]) faces.push(cardFace(card, state.played.has(card) ? "gone" : ""));
  } else {
    for (const [, card] of played) faces.push(cardFace(card, "gone"));
    const left = state.deal.size - played.length;
    for (let count = 0; count < left; count += 1) {
      const back = make("span", "card back");
      if (count === 0) {
        back.setAttribute("role", "img");
        back.setAttribute("aria-label", `${left} hidden`);
      }
      faces.push(back);
    }
  }
  for (const face of faces) {
    const item = make("li");
    item.append(face);
    list.append(item);
  }
  return list;
}

function drawThought(state) {
  const thought = state.deal.thoughts && !state.scored && state.deal.thoughts[state.bids + state.cards];
  const mayTell = thought && (seenBy === null || seenBy === state.actor);
  byId("thought").hidden = !mayTell;
  if (!mayTell) return;
  const choice = state.bids < state.deal.bids.length ? `bid ${state.deal.bids[state.bids][1]}` : state.deal.cards[state.cards][1];
  const who = data.names[state.actor];
  const done = choice === thought.chosen ? `, as ${who} did` : `; ${who} chose ${said(choice)}`;
  byId("thought-said").textContent = `In the place of ${who}, it would choose ${said(thought.chosen)}${done}.`;
  const table = make("table");
  const searched = thought.rows.some((row) => row[3]);
  const heads = ["Choice", "Behind the best", ...(searched ? ["±", "Deals played out"] : [])];
  const digits = thought.unit === "tries" ? 0 : 2;
  const names = make("tr");
  for (const text of heads) names.append(cell("th", text, text === "Choice" ? "words" : ""));
  const body = make("tbody");
  for (const [name, value, error, visits, same] of thought.rows) {
    const row = make("tr", name === thought.chosen ? "now" : "");
    const head = cell("th", isCard(name) ? "" : name, "row words");
    if (isCard(name)) head.append(cardFace(name, "small"));
    if (name === choice) head.append(" (chosen)");
    row.append(head);
    row.append(cell("td", same ? `as good as ${said(same)}` : value === null ? "–" : difference(value, digits)));
    if (searched) row.append(cell("td", error === null ? "" : error.toFixed(2)), cell("td", visits ? String(visits) : ""));
    body.append(row);
  }
  const top = make("thead");
  top.append(names);
  table.append(top, body);
  const caption = make("caption", "", `In ${thought.unit}: the best choice has ${difference(0, digits)}.`);
  table.prepend(caption);
  byId("thought-scroll").replaceChildren(table, ...thought.notes.map((note) => make("p", "", note)));
}

function drawSheet() {
  const table = byId("sheet");
  const head = make("tr");
  for (const text of ["Deal", "Cards", "Trump"]) head.append(cell("th", text));
  for (const name of data.names) {
    const column = cell("th", name);
    column.title = name;
    head.append(column);
  }
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  data.deals.forEach((deal, number) => body.append(sheetRow(deal, number)));
  table.replaceChildren(make("caption", "aside", "Score sheet: tricks of bid, then the score"), top, body);
}

function sheetRow(deal, number) {
  const row = make("tr");
  row.dataset.deal = number;
  row.append(cell("th", deal.number, "row"), cell("td", deal.size));
  const trump = make("td");
  if (deal.trump && deal.trump !== "?") {
    const suit = make("span", "card small");
    suit.setAttribute("role", "img");
    suit.setAttribute("aria-label", data.suits[deal.trump].word);
    suit.append(drawing(deal.trump));
    trump.append(suit);
  } else trump.textContent = deal.trump ? "?" : "none";
  row.append(trump);
  const bids = Object.fromEntries(deal.bids);
  for (let seat = 0; seat < players; seat += 1) {
    if (!deal.points) {
      row.append(cell("td", "…"));
      continue;
    }
    const won = deal.winners.filter((winner) => winner === seat).length;
    const made = won === bids[seat];
    const result = cell("td");
    result.append(make("span", made ? "made" : "missed", `${won} of ${bids[seat]} ${made ? "✓" : "✗"}`));
    result.append(`  ${signed(deal.scores[seat])}`);
    row.append(result);
  }
  return row;
}

function draw() {
  const state = stateAt(place), { deal, step } = place, last = lastStep(state.deal);
  const which = data.total === null ? "One deal" : `Deal ${state.deal.number} of ${Math.max(data.total, state.deal.number)}`;
  byId("where").textContent = `${which}, step ${step} of ${last}`;
  drawFacts(state);
  drawTrick(state);
  byId("seats").replaceChildren(...data.names.map((_, seat) => drawSeat(state, seat)));
  drawThought(state);
  byId("said").textContent = sentence(state);
  const slider = byId("slider");
  slider.max = last;
  slider.value = step;
  slider.setAttribute("aria-valuetext", `step ${step} of ${last}`);
  byId("deal").value = deal;
  setDisabled("back", deal === 0 && step === 0);
  setDisabled("deal-back", deal === 0 && step === 0);
  setDisabled("forward", deal === data.deals.length - 1 && step === last);
  setDisabled("deal-forward", deal === data.deals.length - 1);
  for (const row of byId("sheet").querySelectorAll("tbody tr")) {
    const now = Number(row.dataset.deal) === deal;
    row.classList.toggle("now", now);
    if (now) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  try {
    history.replaceState(null, "", `#${deal + 1}.${step}`);
  } catch {
    // A page in a notebook has no address of its own.
  }
}

function setDisabled(id, disabled) {
  const button = byId(id);
  // A disabled button keeps the focus, or the keys would have no effect.
  button.setAttribute("aria-disabled", String(disabled));
  button.classList.toggle("idle", disabled);
}

// ---------------------------------------------------------------- moving about

function go(deal, step) {
  const number = Math.min(Math.max(deal, 0), data.deals.length - 1);
  place = { deal: number, step: Math.min(Math.max(step, 0), lastStep(data.deals[number])) };
  draw();
}

// Returns the deal and step in the address, as #3.12; #3 is the beginning of deal 3.
function addressed() {
  const found = /^#(\d+)(?:\.(\d+))?$/.exec(location.hash);
  if (!found || Number(found[1]) < 1) return null;
  return { deal: Number(found[1]) - 1, step: Number(found[2] || 0) };
}

const moves = {
  forward() {
    if (place.step < lastStep(data.deals[place.deal])) go(place.deal, place.step + 1);
    else if (place.deal < data.deals.length - 1) go(place.deal + 1, 0);
  },
  back() {
    if (place.step > 0) go(place.deal, place.step - 1);
    else if (place.deal > 0) go(place.deal - 1, Infinity);
  },
  "deal-forward"() {
    if (place.deal < data.deals.length - 1) go(place.deal + 1, 0);
  },
  "deal-back"() {
    go(place.step > 0 ? place.deal : place.deal - 1, 0);
  },
  first() { go(0, 0); },
  last() { go(Infinity, Infinity); },
};
const KEYS = { ArrowRight: "forward", ArrowLeft: "back", PageDown: "deal-forward", PageUp: "deal-back", Home: "first", End: "last" };

function paint() {
  const four = byId("four").checked ? 1 : 0;
  suits.forEach((suit, number) => {
    document.documentElement.style.setProperty(`--hue-${number + 1}`, data.suits[suit].colours[four]);
  });
}

function begin() {
  byId("title").textContent = data.title;
  if (data.player) byId("thought-head").textContent = `What ${data.player} thinks`;
  for (const id of ["forward", "back", "deal-forward", "deal-back"]) byId(id).addEventListener("click", moves[id]);
  byId("slider").addEventListener("input", (event) => go(place.deal, Number(event.target.value)));
  data.deals.forEach((deal, number) => byId("deal").append(new Option(`${deal.number} (${deal.size})`, number)));
  byId("deal").addEventListener("change", (event) => go(Number(event.target.value), 0));
  if (looker === null) {
    byId("looker").append(new Option("all seats", ""));
    data.names.forEach((name, seat) => byId("looker").append(new Option(name, seat)));
    byId("looker").addEventListener("change", (event) => {
      seenBy = event.target.value === "" ? null : Number(event.target.value);
      draw();
    });
  } else byId("looker-label").textContent = `View of ${data.names[looker]}`;
  byId("four").addEventListener("change", paint);
  byId("four-label").hidden = suits.every((suit) => data.suits[suit].colours[0] === data.suits[suit].colours[1]);
  document.addEventListener("keydown", (event) => {
    const move = KEYS[event.key];
    const busy = event.target.closest("select, input[type=range], .scroll");
    if (!move || busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    moves[move]();
  });
  window.addEventListener("hashchange", () => {
    const wanted = addressed();
    if (wanted) go(wanted.deal, wanted.step);
    else draw();  // this corrects the address
  });
  drawSheet();
  paint();
  byId("main").hidden = false;
  const { deal, step } = addressed() || place;
  go(deal, step);
}

begin();
})();
