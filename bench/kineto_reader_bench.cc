// Reading a large Kineto file: MB/s and peak memory of ReadKineto, and of simdjson's DOM parser on
// one thread, which reads the same file and keeps nothing but its tape.
// usage: kineto_reader_bench [MB] [ROUNDS] [DIRECTORY] | FILE [ROUNDS]
// Every measurement is a process of its own, in turn; "warm" parses the file once more with the
// memory of the first time, so without page faults.
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "converters/pytorch/kineto/kineto.h"

namespace reprise {
namespace {

constexpr double kMb = 1e6;

// Of this process, all its threads.
double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One operation as PyTorch writes it, and what it launches: cpu_op, two Python frames around it,
// the runtime call, the kernel, and the arrow between them.
void AppendOperation(std::uint64_t i, std::string& out) {
  const double at = 4370094527776.776 + static_cast<double>(i) * 25.25;
  const std::uint64_t id = i + 3;
  for (const int line : {120, 1553}) {
    fmt::format_to(std::back_inserter(out), R"(
  {{
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py({}): _call_impl", "pid": 10159, "tid": 10159,
    "ts": {:.3f}, "dur": 21.730,
    "args": {{
      "Python parent id": {}, "Python id": {}, "Ev Idx": {}
    }}
  }},)",
                   line, at, 2 * i, 2 * i + 1, 4 * i);
  }
  fmt::format_to(std::back_inserter(out), R"(
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::op{}", "pid": 10159, "tid": 10159,
    "ts": {:.3f}, "dur": 19.974,
    "args": {{
      "External id": {}, "Record function id": {}, "Sequence number": {}, "Fwd thread id": 0, "Ev Idx": {}, "Concrete Inputs": ["", "", "[1, {}]", "False"], "Input type": ["float", "float", "ScalarList", "Scalar"], "Input Strides": [[1024, 1], [1, 1024], [], []], "Input Dims": [[8, {}], [1024, 1024], [], []]
    }}
  }},)",
                 i % 300, at + 0.5, id, id + 7, i % 5000, 4 * i + 2, i % 64, 1 + i % 512);
  fmt::format_to(std::back_inserter(out), R"(
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10159, "tid": 10159,
    "ts": {:.3f}, "dur": 6.115,
    "args": {{
      "External id": {}, "cbid": 211, "correlation": {}
    }}
  }},
  {{
    "ph": "s", "id": {}, "pid": 10159, "tid": 10159, "ts": {:.3f},
    "cat": "ac2g", "name": "ac2g"
  }},)",
                 at + 3.25, id, id, id, at + 3.25);
  fmt::format_to(std::back_inserter(out), R"json(
  {{
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, {}ul> >(int, at::native::CUDAFunctor_add<float>)", "pid": 0, "tid": 7,
    "ts": {:.3f}, "dur": 12.128,
    "args": {{
      "External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {}, "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.939394, "warps per SM": 7.757576, "grid": [{}, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 12
    }}
  }},
  {{
    "ph": "f", "id": {}, "pid": 0, "tid": 7, "ts": {:.3f},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},)json",
                 i % 40, at + 12, id, id, 1 + i % 256, id, at + 12);
}

bool WriteFile(const std::string& path, double bytes) {
  std::ofstream file(path, std::ios::binary);
  std::string text = R"({
  "schemaVersion": 1,
  "deviceProperties": [
    { "id": 0, "name": "synthetic", "totalGlobalMem": 85000000000 }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1, "pg_count": 0},
  "traceEvents": [)";
  double written = 0;
  for (std::uint64_t i = 0; written < bytes && file; ++i) {
    AppendOperation(i, text);
    if (text.size() > 1 << 20) {
      written += static_cast<double>(text.size());
      file << text;
      text.clear();
    }
  }
  text += R"(
  {
    "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 4370094527776.776
  }
  ],
  "traceName": "synthetic.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1755000000000000000
})";
  file << text;
  file.close();
  return !file.fail();
}

struct Measurement {
  bool ok = false;
  double seconds = 0, warm_seconds = 0;
  double peak_mb = 0;      // resident
  double cpu_seconds = 0;  // of all threads, first reading only
};

bool ParseDom(const std::string& path, Measurement& m) {
  const double start = Seconds();
  simdjson::padded_string text;
  if (simdjson::padded_string::load(path).get(text) != simdjson::SUCCESS) {
    return false;
  }
  simdjson::dom::parser parser;
  bool ok = parser.parse(text).error() == simdjson::SUCCESS;
  m.seconds = Seconds() - start;
  m.cpu_seconds = CpuSeconds();
  const double again = Seconds();
  ok = ok && parser.parse(text).error() == simdjson::SUCCESS;
  m.warm_seconds = Seconds() - again;
  return ok;
}

bool ReadOurs(const std::string& path, Measurement& m) {
  const double start = Seconds();
  Diagnostics diagnostics;
  const auto source = TextSource::Open(path);
  if (!source) {
    fmt::print(stderr, "{}\n", source.error().message);
    return false;
  }
  const auto trace = pytorch::ReadKineto(**source, false, diagnostics);
  m.seconds = Seconds() - start;
  m.cpu_seconds = CpuSeconds();
  if (!trace) {
    fmt::print(stderr, "{}\n", trace.error().message);
    return false;
  }
  return true;
}

template <typename Measured>
Measurement InChild(const std::string& path, Measured measured) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return {};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    Measurement m;
    m.ok = measured(path, m);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    m.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / kMb;
    const bool written = ::write(ends[1], &m, sizeof(m)) == sizeof(m);
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  Measurement m;
  if (child < 0 || ::read(ends[0], &m, sizeof(m)) != sizeof(m)) {
    m = {};
  }
  ::close(ends[0]);
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
  }
  return m;
}

struct Range {
  double low, median, high;
};
Range RangeOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

void Report(const char* what, const std::vector<double>& values, const char* unit) {
  const Range range = RangeOf(values);
  fmt::print("{:44} {:8.2f} {:5} ({:.2f}–{:.2f})\n", what, range.median, unit, range.low,
             range.high);
}

int Measure(const std::string& path, int rounds) {
  const double mb = static_cast<double>(std::filesystem::file_size(path)) / kMb;
  fmt::print("{}: {:.0f} MB, {} rounds, median (lowest–highest)\n", path, mb, rounds);
  std::vector<double> dom, warm, ours, ratio, warm_ratio, cpu_ratio, dom_peak, our_peak;
  for (int round = 0; round < rounds; ++round) {
    const Measurement theirs = InChild(path, ParseDom);
    const Measurement mine = InChild(path, ReadOurs);
    if (!theirs.ok || !mine.ok) {
      fmt::print(stderr, "{} failed\n", mine.ok ? "simdjson's DOM parser" : "ReadKineto");
      if (!mine.ok) {
        return 1;
      }
    }
    ours.push_back(mb / mine.seconds);
    our_peak.push_back(mine.peak_mb);
    if (theirs.ok) {  // 4 GiB and more is not for it
      dom.push_back(mb / theirs.seconds);
      warm.push_back(mb / theirs.warm_seconds);
      dom_peak.push_back(theirs.peak_mb);
      ratio.push_back(theirs.seconds / mine.seconds);
      cpu_ratio.push_back(theirs.cpu_seconds / mine.cpu_seconds);
      warm_ratio.push_back(theirs.warm_seconds / mine.seconds);
    }
  }
  Report("ReadKineto", ours, "MB/s");
  Report("ReadKineto, peak memory", our_peak, "MB");
  if (!dom.empty()) {
    Report("simdjson DOM, 1 thread, load and parse", dom, "MB/s");
    Report("simdjson DOM, 1 thread, parse again (warm)", warm, "MB/s");
    Report("simdjson DOM, peak memory", dom_peak, "MB");
    Report("ReadKineto to load and parse", ratio, "times");
    Report("ReadKineto to load and parse, CPU time", cpu_ratio, "times");
    Report("ReadKineto to parse again (warm)", warm_ratio, "times");
  }
  return 0;
}

int Main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 7;
  if (argc > 1 && std::filesystem::is_regular_file(argv[1])) {
    return Measure(argv[1], rounds);
  }
  const double mb = argc > 1 ? std::strtod(argv[1], nullptr) : 1000;
  const std::filesystem::path directory =
      argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
  const std::string path = (directory / fmt::format("kineto_bench.{}.json", ::getpid())).string();
  const bool written = WriteFile(path, mb * kMb);
  if (!written) {
    fmt::print(stderr, "{}: cannot be written\n", path);
  }
  const int code = written ? Measure(path, rounds) : 1;
  std::filesystem::remove(path);
  return code;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Main(argc, argv); }
