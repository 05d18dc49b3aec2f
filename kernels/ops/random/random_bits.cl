// Draws by counter: RandomBits, RandomHalf and RandomUnit of random_draw.h.

// The finaliser of SplitMix64.
static inline ulong mix(ulong x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
  return x ^ (x >> 31);
}
static inline ulong random_bits(ulong seed, long i) {
  return mix(seed + ((ulong)i + 1) * 0x9e3779b97f4a7c15UL);
}
static inline ulong random_half(ulong seed, long i) {
  return random_bits(seed, i >> 1) << (32 - 32 * (i & 1));
}
// [0, 1) and (0, 1], multiples of 2^-24: exact in float.
static inline float unit(ulong bits) { return (float)(bits >> 40) * 0x1p-24f; }
static inline float unit_above_zero(ulong bits) { return (float)((bits >> 40) + 1) * 0x1p-24f; }
