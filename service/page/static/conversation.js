// What was asked and answered before, which a question may follow.

const TURNS = 6; // of a conversation that are told
const LONGEST_ANSWER = 4000; // characters of a turn

/** Whether a question of the address was asked here, so that what it followed is known. */
export const isAskedHere = () => window.history.state?.said !== undefined;

/** What was asked of the books that are open, and answered, since they were opened. */
export class Conversation {
  #turns = [];

  clear() {
    this.#turns = [];
  }

  /**
   * What was said before `asked`, and up to no later a place in any book than `limits`, in percent by id, say.
   *
   * It is kept with the address in the browser's history: whoever goes back to it, or loads it anew, asks the same
   * question again, whatever was asked since.
   */
  before(asked, limits) {
    const isWithin = (turn) => Object.entries(limits).every(([id, share]) => (turn.limits[id] ?? 0) <= share);
    const others = this.#turns.filter((turn) => turn.asked !== asked && isWithin(turn));
    const said = window.history.state?.said ?? others.slice(-TURNS);
    window.history.replaceState({ said }, "");
    return said.filter(isWithin).map(({ question, answer }) => ({ question, answer }));
  }

  /** A guess that was not shown for an answer is not said. */
  add(asked, limits, { rewritten, answer, answerable }) {
    const said = answerable ? answer.slice(0, LONGEST_ANSWER) : "";
    const turn = { asked, limits, question: rewritten ?? asked, answer: said };
    this.#turns = [...this.#turns.filter((one) => one.asked !== asked), turn];
  }
}
