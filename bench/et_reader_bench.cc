// Reading .et files: CPU nanoseconds and bytes a node. usage: et_reader_bench [NODES] [DIRECTORY] |
// FILE Simple nodes are what simulators' traces hold (name, type, one or two dependencies,
// duration); full nodes are what the PyTorch converter writes (tensors, incarnations, reasons,
// schema).
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "et_schema/graph.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

double PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// Of this process: on a machine shared with others, wall time says little.
double CpuNs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

Value Tensor(std::int64_t number, std::vector<std::int64_t> shape) {
  TensorDesc t;
  t.tensor_id = 2 * number + 300;
  t.storage_id = 2 * number + 301;
  t.incarnation = number;
  t.dtype = DType::kFloat32;
  t.elements = ElementCount(shape);
  t.strides = ContiguousStrides(shape);
  t.shape = std::move(shape);
  t.device = "cpu";
  return {t};
}

Node MakeNode(std::uint64_t i, bool full) {
  Node node;
  node.id = i + 1;
  node.name = full ? "aten::addmm" : fmt::format("COMP_NODE_{}", i % 1000);
  node.type = NodeType::kComp;
  node.start_ns = static_cast<std::int64_t>(i) * 10'000;
  node.duration_ns = 9'000 + static_cast<std::int64_t>(i % 997);
  node.actor.id = 1;
  for (std::uint64_t back : {1U, 7U}) {
    if (i >= back) {
      node.deps.push_back(
          {.node_id = i + 1 - back, .reason = back == 1 ? EdgeReason::kThread : EdgeReason::kData});
    }
  }
  if (full) {
    const auto n = static_cast<std::int64_t>(i);
    node.op_class = OpClass::kGemm;
    node.delay_ns = 1'000 - node.duration_ns % 1'000;
    node.step = 0;
    node.rf_id = n + 50;
    node.seq_id = n % 5'000;
    node.parent = "aten::linear";
    node.op_schema =
        "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
        "Tensor";
    node.inputs = {Tensor(n, {256}), Tensor(n + 1, {256, 256}), Tensor(n + 2, {256, 256}),
                   Value{std::int64_t{1}}, Value{std::int64_t{1}}};
    node.outputs = {Tensor(n + 3, {256, 256})};
  }
  return node;
}

bool WriteTrace(const std::string& path, std::uint64_t nodes, bool full) {
  TraceMetadata metadata;
  metadata.steps = {{"trace", 0, static_cast<std::int64_t>(nodes) * 10'000}};
  auto writer = EtWriter::Create(path, metadata);
  if (!writer) {
    return false;
  }
  const double start = CpuNs();
  for (std::uint64_t i = 0; i < nodes; ++i) {
    if (!(*writer)->Write(MakeNode(i, full))) {
      return false;
    }
  }
  if (!(*writer)->Close()) {
    return false;
  }
  fmt::print("{:40} {:8.0f} ns/node {:8.0f} bytes/node in the file\n", "write " + path,
             (CpuNs() - start) / static_cast<double>(nodes),
             static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(nodes));
  return true;
}

bool ReadTrace(const std::string& path) {
  const double before = PeakRssBytes();
  double start = CpuNs();
  const auto graph = Graph::Load(path);
  const double load_ns = (CpuNs() - start);
  if (!graph) {
    fmt::print(stderr, "{}\n", graph.error().message);
    return false;
  }
  const double n = graph->size();
  fmt::print("{:40} {:8.0f} ns/node {:8.0f} bytes/node kept {:8.0f} bytes/node peak RSS\n",
             "Graph::Load " + path, load_ns / n, static_cast<double>(graph->MemoryBytes()) / n,
             (PeakRssBytes() - before) / n);
  start = CpuNs();
  auto reader = EtReader::Open(path);
  Node node;
  std::uint64_t count = 0;
  for (; reader; ++count) {
    const auto more = (*reader)->Next(node);
    if (!more || !*more) {
      break;
    }
  }
  fmt::print("{:40} {:8.0f} ns/node ({} nodes)\n", "EtReader::Next " + path, (CpuNs() - start) / n,
             count);
  return true;
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::filesystem::is_regular_file(argv[1])) {
    return ReadTrace(argv[1]) ? 0 : 1;
  }
  const std::uint64_t nodes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::filesystem::path directory =
      argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  for (const char* name : {"simple.0.et", "full.0.et"}) {
    const std::string path = (directory / name).string();
    if (!WriteTrace(path, nodes, *name == 'f') || !ReadTrace(path)) {
      return 1;
    }
    std::filesystem::remove(path);
  }
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Main(argc, argv); }
