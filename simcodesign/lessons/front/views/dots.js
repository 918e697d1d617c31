// Many equal disks on a canvas, with a rim: a few are drawn, thousands are stamped into an image, which takes a tenth of
// the time.
import { sized } from "../figure.js";

const DRAWN = 300;

export class Dots {
  /** Draw a disk of `radius` pixels at each of `spots` ([x, y]); `pen` is that of a canvas of `width` x `height`. */
  draw(pen, width, height, spots, radius, colour, rim) {
    if (spots.length <= DRAWN) return this.#few(pen, spots, radius, colour, rim);
    const ratio = pen.canvas.width / width, [w, h] = [pen.canvas.width, pen.canvas.height];
    const stamp = this.#stampOf(radius, colour, rim, ratio, w);
    if (this.image?.width !== w || this.image.height !== h) {
      this.layer = Object.assign(document.createElement("canvas"), { width: w, height: h });
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
    for (const [x, y] of spots) this.#stamp(stamp, Math.round(x * ratio - stamp.side / 2), Math.round(y * ratio - stamp.side / 2), w, h);
    this.layer.getContext("2d").putImageData(this.image, 0, 0);
    pen.drawImage(this.layer, 0, 0, width, height);
  }

  #few(pen, spots, radius, colour, rim) {
    for (const [size, fill] of [[radius + 1, rim], [radius, colour]]) {
      pen.fillStyle = fill;
      pen.beginPath();
      for (const [x, y] of spots) {
        pen.moveTo(x + size, y);
        pen.arc(x, y, size, 0, 2 * Math.PI);
      }
      pen.fill();
    }
  }

  /** The pixels of one disk that are not empty: {side, at (how far from the first, in a picture so wide), pixels}. */
  #stampOf(radius, colour, rim, ratio, width) {
    const key = [radius, colour, rim, ratio, width].join();
    if (this.stamp?.key === key) return this.stamp;
    const canvas = document.createElement("canvas"), size = Math.ceil(2 * radius) + 4;
    const pen = sized(canvas, size, size);
    this.#few(pen, [[size / 2, size / 2]], radius, colour, rim);
    const side = canvas.width, all = new Uint32Array(pen.getImageData(0, 0, side, side).data.buffer);
    const filled = [...all.keys()].filter((k) => all[k] !== 0);
    const at = Int32Array.from(filled, (k) => Math.floor(k / side) * width + (k % side));
    return (this.stamp = { key, side, at, pixels: Uint32Array.from(filled, (k) => all[k]) });
  }

  #stamp({ side, at, pixels }, left, top, width, height) {
    if (left < 0 || top < 0 || left + side > width || top + side > height) return; // beside the picture
    const begin = top * width + left;
    for (let k = 0; k < at.length; k++) this.pixels[begin + at[k]] = pixels[k];
  }
}
