// The picture on a book's cover, beside its title.

import * as api from "./api.js";

const HEIGHT_PX = 96; // as the style sheet has it

/** Draws covers on a canvas, for the page's policy lets no other picture in than the service's own files. */
export class Cover {
  constructor(canvas) {
    this.canvas = canvas;
    this.book = null;
  }

  /** Shows the cover of a book as `GET /books/{id}` gives it; nothing of one without, or of null. */
  async show(book) {
    this.book = book;
    this.canvas.hidden = true;
    if (!book?.has_cover) return;
    try {
      const size = { resizeHeight: Math.ceil(HEIGHT_PX * devicePixelRatio), resizeQuality: "high" };
      const picture = await createImageBitmap(await api.cover(book.id), size);
      if (this.book !== book) return; // somebody has gone on to another meanwhile
      this.canvas.width = picture.width;
      this.canvas.height = picture.height;
      this.canvas.getContext("2d").drawImage(picture, 0, 0);
      this.canvas.hidden = false;
    } catch {
      // It cannot be drawn, or is gone: the title says which book it is.
    }
  }
}
