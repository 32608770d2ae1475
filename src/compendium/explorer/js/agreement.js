"use strict";
// What a pair of explanations shares on one text: the same rules as attreval.metrics.agreement, .dynamic_k and .human_agreement.
// A voter is an array of n scores; ties at the border of a top k are resolved by expectation, in closed form.

function choose(n, k) {
  if (k < 0 || k > n) return 0;
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}

// {sure, tied, left}: tokens surely among the top k, tokens tied at the border, and how many of those are.
function topK(scores, k) {
  const n = scores.length, yes = scores.map(() => true), no = scores.map(() => false);
  if (k >= n) return { sure: yes, tied: no, left: 0 };
  const border = [...scores].sort((a, b) => b - a)[k - 1];
  const sure = scores.map((s) => s > border), tied = scores.map((s) => s === border);
  const left = k - sure.filter(Boolean).length;
  if (left === tied.filter(Boolean).length) return { sure: sure.map((s, i) => s || tied[i]), tied: no, left: 0 };
  return { sure, tied, left };
}

function count(test, n) {
  let found = 0;
  for (let i = 0; i < n; i++) if (test(i)) found++;
  return found;
}

// Expected agreement@k of two voters: min(k, n) over the size of the union of what they select.
function agreementAtK(a, b, k) {
  const n = a.length;
  if (!n) return NaN;
  const A = topK(a, k), B = topK(b, k), each = Math.min(k, n);
  const shared = count((i) => A.sure[i] && B.sure[i], n);
  const inB = count((i) => A.tied[i] && B.sure[i], n), inA = count((i) => B.tied[i] && A.sure[i], n);
  const both = count((i) => A.tied[i] && B.tied[i], n);
  const tiedA = count((i) => A.tied[i], n), tiedB = count((i) => B.tied[i], n);
  const alone = { a: tiedA - inB - both, b: tiedB - inA - both };
  let total = 0;
  for (let x = 0; x <= Math.min(inB, A.left); x++) {
    for (let u = 0; u <= Math.min(both, A.left - x); u++) {
      const p = (choose(inB, x) * choose(both, u) * choose(alone.a, A.left - x - u)) / choose(tiedA, A.left);
      if (!p) continue;
      for (let y = 0; y <= Math.min(inA, B.left); y++) {
        for (let z = 0; z <= Math.min(u, B.left - y); z++) {
          // the other tied tokens of B: those that A left of the common ones, and those that are B's alone
          const rest = choose(both - u + alone.b, B.left - y - z);
          const q = (choose(inA, y) * choose(u, z) * rest) / choose(tiedB, B.left);
          if (q) total += (p * q * each) / (2 * each - (shared + x + y + z));
        }
      }
    }
  }
  return total;
}

// The same with people whose relevance is the share of them that marked a token.
function agreementWithShare(scores, share, k) {
  const n = scores.length;
  if (!n) return NaN;
  const { sure, tied, left } = topK(scores, k);
  const covered = (i) => sure[i] || share[i] > 0;
  const sum = (Math.min(k, n) + share.reduce((a, b) => a + b, 0)) / 2;
  const size = count(covered, n), free = count((i) => tied[i] && !covered(i), n), ties = count((i) => tied[i], n);
  let total = 0;
  for (let fresh = 0; fresh <= Math.min(free, left); fresh++) {
    const p = left ? (choose(free, fresh) * choose(ties - free, left - fresh)) / choose(ties, left) : 1;
    total += (p * sum) / (size + fresh);
  }
  return total;
}

// Positions of the peaks of a profile, by a rule with the fields of attreval.metrics.dynamic_k.PeakRule.
function localMaxima(scores, rule) {
  const n = scores.length, peaks = [];
  if (n < 2) return peaks;
  const level = scores.reduce((a, b) => a + b, 0) / n;
  for (let a = 0, b; a < n; a = b + 1) {
    b = a;
    while (b + 1 < n && scores[b + 1] === scores[a]) b++;
    const value = scores[a], flat = b > a, atEnd = a === 0 || b === n - 1;
    if (!(rule.above_mean ? value > level : value >= level) || (a === 0 && b === n - 1)) continue;
    if (!(a === 0 || scores[a - 1] < value) || !(b === n - 1 || scores[b + 1] < value)) continue;
    if (flat && !(atEnd ? rule.plateau_ends : rule.plateaus)) continue;
    if (atEnd && !flat) {
      const other = a === 0 ? scores[n - 1] : scores[0];
      if (rule.ends === "never" || (rule.ends === "around" && other >= value)) continue;
    }
    peaks.push(a + Math.floor((b - a) / 2));
  }
  return peaks;
}

// Agreement of two selections of any size, given as positions; NaN where both are empty.
function agreementOf(a, b) {
  const union = new Set([...a, ...b]).size;
  return union ? (a.length + b.length) / (2 * union) : NaN;
}

function selectionWithShare(chosen, share) {
  const picked = new Set(chosen);
  const mean = share.map((s, i) => ((picked.has(i) ? 1 : 0) + s) / 2), covered = mean.filter((m) => m > 0);
  return covered.length ? covered.reduce((a, b) => a + b, 0) / covered.length : NaN;
}

// Ranks from 1; equal scores share the first of theirs.
function ranksOf(scores) {
  const sorted = [...scores].sort((a, b) => b - a), first = new Map();
  sorted.forEach((s, i) => first.has(s) || first.set(s, i + 1));
  return scores.map((s) => first.get(s));
}
