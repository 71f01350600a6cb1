// Numbers said in words.

const CONFIDENCE = [
  [0.95, "Almost certain"],
  [0.75, "Very likely"],
  [0.5, "Likely"],
  [0.3, "Possible"],
  [0.15, "Unsure"],
  [0, "A guess"],
];

export const confidenceInWords = (confidence) => CONFIDENCE.find(([from]) => confidence >= from)[1];

export const percent = (share) => `${Number((100 * share).toFixed(1))}\u00a0%`;

export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** The title of the innermost chapter that holds the character `at`, or null. */
export function chapterAt(chapters, at) {
  const holding = chapters.filter((chapter) => chapter.start <= at && at < chapter.end);
  return holding.length === 0 ? null : holding[holding.length - 1].title;
}
