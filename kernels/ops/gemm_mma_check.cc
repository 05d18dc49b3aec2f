// Whether tensor cores compute what they should, before anything relies on them.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "kernels/ops/gemm_mma.h"

namespace reprise {
namespace {

// Not multiples of any tile.
constexpr std::int64_t kM = 72, kN = 88, kK = 104;

// Whole numbers from -3 to 3: exact in bfloat16, and so are their sums in float32.
int ElementOf(std::int64_t i) { return static_cast<int>(i * 5 % 7) - 3; }

std::vector<std::uint16_t> Elements(std::int64_t count) {
  std::vector<std::uint16_t> bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(ElementOf(i));
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof(word));
    bits.push_back(static_cast<std::uint16_t>(word >> 16));
  }
  return bits;
}

Status Compare(const std::vector<float>& got) {
  for (std::int64_t m = 0; m < kM; ++m) {
    for (std::int64_t n = 0; n < kN; ++n) {
      int want = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        want += ElementOf(m * kK + k) * ElementOf(k * kN + n);
      }
      const float is = got[static_cast<std::size_t>(m * kN + n)];
      if (is != static_cast<float>(want)) {
        return EnvironmentError(fmt::format(
            "a product on tensor cores is wrong: element ({}, {}) is {}, not {}", m, n, is, want));
      }
    }
  }
  return {};
}

}  // namespace

Status CheckTensorCores(Device& device, const std::string& options) {
  const std::vector<std::uint16_t> a = Elements(kM * kK);
  const std::vector<std::uint16_t> b = Elements(kK * kN);
  std::vector<float> d(static_cast<std::size_t>(kM * kN), -1.0F);
  const auto bytes = [](const auto& v) {
    return static_cast<std::int64_t>(v.size() * sizeof(v.front()));
  };
  REPRISE_ASSIGN(const auto a_buffer, device.Allocate(bytes(a)));
  REPRISE_ASSIGN(const auto b_buffer, device.Allocate(bytes(b)));
  REPRISE_ASSIGN(const auto d_buffer, device.Allocate(bytes(d)));
  GemmProblem p;
  p.m = kM;
  p.n = kN;
  p.k = kK;
  p.a = {a_buffer.get(), DType::kBFloat16, 0, {0, 0}, {kK, 0, 0}, {1, 0, 0}};
  p.b = {b_buffer.get(), DType::kBFloat16, 0, {0, 0}, {kN, 0, 0}, {1, 0, 0}};
  p.d = {d_buffer.get(), DType::kFloat32, 0, {0, 0}, {kN, 0, 0}, {1, 0, 0}};
  DeviceInfo info = device.info();
  info.is_cpu = false;
  info.tensor_cores = true;
  info.tuning = {};
  auto launch = MmaLaunch(p, info);
  if (!launch) {
    return UsageError("the check of tensor cores takes a product that they do not");
  }
  launch->options += options;
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  REPRISE_TRY(stream->Upload(*a_buffer, 0, a.data(), bytes(a)));
  REPRISE_TRY(stream->Upload(*b_buffer, 0, b.data(), bytes(b)));
  REPRISE_ASSIGN(const auto prepared, device.Prepare(*launch));
  REPRISE_TRY(stream->Enqueue(*prepared));
  REPRISE_TRY(stream->Download(d.data(), *d_buffer, 0, bytes(d)));
  REPRISE_TRY(stream->Finish());
  return Compare(d);
}

}  // namespace reprise
