// Moves elements between a strided tensor and a dense one. T: an unsigned type of the element's
// size. Operand 0 of the space is read, operand 1 written.
__kernel void repack(__global const T* from, __global T* to, IndexSpace space) {
#if DEVICE_IS_CPU
  // Lines of the innermost dimension.
  int last = (int)space.dims - 1;
  long extent = space.shape[last], from_step = space.strides[0][last];
  long to_step = space.strides[1][last], lines = space.count / extent;
  for (long line = FIRST(lines); line < LAST(lines); line += STEP) {
    __global const T* f = from + offset_of(&space, 0, line * extent);
    __global T* t = to + offset_of(&space, 1, line * extent);
    for (long i = 0; i < extent; ++i) t[i * to_step] = f[i * from_step];
  }
#else
  for (long i = FIRST(space.count); i < LAST(space.count); i += STEP)
    to[offset_of(&space, 1, i)] = from[offset_of(&space, 0, i)];
#endif
}
