// Windows of images as columns, and their sum back into images. X: element type. Operands are dense:
// images (P, H, W), columns (P, KH, KW, OH, OW).
#include "rows.cl"

__kernel void unfold(__global const TYPE(X) * image, long image0, __global TYPE(X) * columns,
                     long columns0, long planes, long H, long W, long KH, long KW, long OH,
                     long OW, long sy, long sx, long py, long px, long dy, long dx) {
  const long rows = planes * KH * KW * OH;
  for (long row = FIRST(rows); row < LAST(rows); row += STEP) {
    const long tap = row / OH % (KH * KW), plane = row / OH / (KH * KW);
    const long y = row % OH * sy - py + tap / KW * dy, left = tap % KW * dx - px;
    for (long ox = 0; ox < OW; ++ox) {
      const long x = ox * sx + left;
      const bool inside = y >= 0 && y < H && x >= 0 && x < W;
      columns[columns0 + row * OW + ox] = inside ? image[image0 + (plane * H + y) * W + x] : 0;
    }
  }
}

// Each pixel asks the taps that see it.
__kernel void fold(__global TYPE(X) * image, long image0, __global const TYPE(X) * columns,
                   long columns0, long planes, long H, long W, long KH, long KW, long OH, long OW,
                   long sy, long sx, long py, long px, long dy, long dx) {
  for (long i = FIRST(planes * H * W); i < LAST(planes * H * W); i += STEP) {
    const long x = i % W, y = i / W % H, plane = i / W / H;
    ACC sum = 0;
    for (long ky = 0; ky < KH; ++ky) {
      const long down = y + py - ky * dy;
      if (down < 0 || down % sy != 0 || down / sy >= OH) continue;
      for (long kx = 0; kx < KW; ++kx) {
        const long right = x + px - kx * dx;
        if (right < 0 || right % sx != 0 || right / sx >= OW) continue;
        sum += GET(X, columns,
                   columns0 + ((plane * KH * KW + ky * KW + kx) * OH + down / sy) * OW + right / sx);
      }
    }
    PUT(X, image, image0 + i, sum);
  }
}
