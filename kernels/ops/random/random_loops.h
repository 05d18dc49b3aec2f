// Draws of a whole run of elements, vectorised: those of random_draw.h, real ones in float32.
// y[i] is element first + i of the call with `seed`: the same bits on every processor and wherever
// a run begins.
#pragma once

#include <cstdint>

namespace reprise::loops {

void DrawUniform(std::uint64_t seed, std::int64_t first, float low, float span, float* y,
                 std::int64_t n);
// Within 1e-6 of `deviation` of the exact transformation of the same bits.
void DrawNormal(std::uint64_t seed, std::int64_t first, float mean, float deviation, float* y,
                std::int64_t n);
void DrawExponential(std::uint64_t seed, std::int64_t first, float rate, float* y, std::int64_t n);
void DrawBernoulli(std::uint64_t seed, std::int64_t first, float p, float* y, std::int64_t n);
// From [from, from + range).
void DrawIntegers(std::uint64_t seed, std::int64_t first, std::int64_t from, std::uint64_t range,
                  std::int64_t* y, std::int64_t n);
// A dropout of x: kept with probability 1 - p, and then scaled.
void Dropout(const float* x, std::uint64_t seed, std::int64_t first, float p, float scale, float* y,
             std::uint8_t* kept, std::int64_t n);

}  // namespace reprise::loops
