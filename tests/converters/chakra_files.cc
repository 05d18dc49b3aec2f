#include "chakra_files.h"

#include <bit>

namespace reprise::chakra {

void Wire::Varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes_ += static_cast<char>(value | 0x80);
  }
  bytes_ += static_cast<char>(value);
}

Wire& Wire::Number(std::uint32_t field, std::uint64_t value) {
  Varint(field << 3);
  Varint(value);
  return *this;
}

Wire& Wire::Text(std::uint32_t field, std::string_view value) {
  Varint(field << 3 | 2);
  Varint(value.size());
  bytes_ += value;
  return *this;
}

Wire& Wire::Float(std::uint32_t field, float value) {
  Varint(field << 3 | 5);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) {
    bytes_ += static_cast<char>(bits >> shift);
  }
  return *this;
}

Wire& Wire::Packed(std::uint32_t field, std::initializer_list<std::uint64_t> values) {
  Wire list;
  for (const std::uint64_t value : values) {
    list.Varint(value);
  }
  return Message(field, list);
}

std::string Wire::Framed() const {
  Wire length;
  length.Varint(bytes_.size());
  return length.bytes_ + bytes_;
}

Wire IntAttribute(std::string_view name, std::int64_t value) {
  return Wire().Text(1, name).Number(9, static_cast<std::uint64_t>(value));
}
Wire BoolAttribute(std::string_view name, bool value) {
  return Wire().Text(1, name).Number(27, value ? 1 : 0);
}
Wire TextAttribute(std::string_view name, std::string_view value) {
  return Wire().Text(1, name).Text(29, value);
}
Wire OldIntAttribute(std::string_view name, std::int64_t value) {
  return Wire().Text(1, name).Number(2, 2).Number(6, static_cast<std::uint64_t>(value));
}

std::string First() {
  const auto comp = [](std::uint64_t id, std::string_view name, std::uint64_t us) {
    return Wire().Number(1, id).Text(2, name).Number(3, 3).Number(7, us);
  };
  const Wire transfer = Wire()
                            .Number(1, 3)
                            .Text(2, "sum")
                            .Number(3, 6)
                            .Number(4, 2)
                            .Number(13, 1)
                            .Number(14, 1)
                            .Number(14, 1)
                            .Number(18, 1024);
  return comp(1, "a", 5).Framed() + comp(2, "b", 7).Number(4, 1).Framed() + transfer.Framed();
}

std::string Second() {
  const auto attribute = [](std::string_view name, std::uint64_t value) {
    return Wire().Text(1, name).Number(2, 1).Number(5, value);
  };
  const auto comp = [&](std::uint64_t id, std::string_view name, std::uint64_t us) {
    return Wire().Number(1, id).Text(2, name).Number(3, 3).Message(11, attribute("runtime", us));
  };
  const Wire transfer = Wire()
                            .Number(1, 3)
                            .Text(2, "sum")
                            .Number(3, 6)
                            .Number(4, 2)
                            .Message(11, attribute("comm_type", 0))
                            .Message(11, attribute("comm_size", 1024));
  return comp(1, "a", 5).Framed() + comp(2, "b", 7).Number(4, 1).Framed() + transfer.Framed();
}

std::string Third() {
  const auto comp = [](std::uint64_t id, std::string_view name, std::uint64_t us) {
    return Wire()
        .Number(1, id)
        .Text(2, name)
        .Number(3, 4)
        .Text(5, "[4, 1.5]")
        .Text(6, "[[], []]")
        .Text(7, "['Int', 'Double']")
        .Message(11, OldIntAttribute("runtime", static_cast<std::int64_t>(us)))
        .Message(11, Wire().Text(1, "scale").Number(2, 1).Float(5, 0.5F));
  };
  const Wire transfer = Wire()
                            .Number(1, 3)
                            .Text(2, "sum")
                            .Number(3, 7)
                            .Number(4, 2)
                            .Message(11, OldIntAttribute("comm_type", 0))
                            .Message(11, OldIntAttribute("comm_size", 1024));
  const Wire header = Wire().Message(1, OldIntAttribute("pid", 12));
  return header.Framed() + comp(1, "a", 5).Framed() + comp(2, "b", 7).Number(4, 1).Framed() +
         transfer.Framed();
}

std::string Fourth() {
  const auto comp = [](std::uint64_t id, std::string_view name, std::uint64_t us) {
    return Wire().Number(1, id).Text(2, name).Number(3, 4).Number(7, us);
  };
  const Wire transfer = Wire()
                            .Number(1, 3)
                            .Text(2, "sum")
                            .Number(3, 7)
                            .Packed(5, {2})
                            .Message(10, IntAttribute("comm_type", 0))
                            .Message(10, IntAttribute("comm_size", 1024));
  return Wire().Text(1, "0.0.4").Framed() + comp(1, "a", 5).Framed() +
         comp(2, "b", 7).Packed(5, {1}).Framed() + transfer.Framed();
}

namespace {

constexpr std::string_view kHeader = R"({"version": "0.0.4"})";
constexpr std::string_view kFirstNode =
    R"({"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "5"})";
constexpr std::string_view kSecondNode =
    R"({"id": "2", "name": "b", "type": "COMP_NODE", "dataDeps": ["1"], "durationMicros": "7"})";
constexpr std::string_view kThirdNode =
    R"({"id": 3, "name": "sum", "type": 7, "data_deps": [2], "attr": [
      {"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "uint64Val": "1024"}]})";

std::string Listed() {
  return std::string(kFirstNode) + ",\n" + std::string(kSecondNode) + ",\n" +
         std::string(kThirdNode);
}

}  // namespace

std::string Jsonized() {
  return std::string(kHeader) + std::string(kFirstNode) + std::string(kSecondNode) +
         std::string(kThirdNode);
}
std::string JsonNodes() { return "{\"nodes\": [" + Listed() + "]}"; }
std::string JsonArray() { return "[" + Listed() + "]"; }

std::string FeederJson() {
  return R"({"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": false},
    {"Id": 2, "Name": "b", "NodeType": 4, "data_deps": [1], "runtime": 7, "is_cpu_op": false},
    {"Id": 3, "Name": "sum", "NodeType": 7, "data_deps": [2], "comm_type": 0, "comm_size": 1024,
     "is_cpu_op": false}], "ngpus": 2})";
}

std::string Linked() {
  const std::string empty = R"({"values": [], "shapes": [], "types": []})";
  const std::string tensor =
      R"J({"values": [[7, 8, 0, 256, 4, "cuda:0"]], "shapes": [[256]], "types": ["Tensor(float)"]})J";
  const auto node = [&](const std::string& head, const std::string& inputs) {
    return "{" + head + ", \"inputs\": " + inputs + ", \"outputs\": " + empty +
           R"(, "attrs": [{"name": "rf_id", "type": "uint64", "value": 5},
              {"name": "tid", "type": "uint64", "value": 1},
              {"name": "op_schema", "type": "string", "value": ""}]})";
  };
  return R"({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [)" +
         node(R"("id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1)",
              empty) +
         "," +
         node(R"("id": 3, "name": "aten::linear", "ctrl_deps": 2, "ts": 100.5,
                 "inclusive_dur": 50, "exclusive_dur": 10, "inter_thread_dep": null)",
              empty) +
         "," +
         node(R"("id": 4, "name": "aten::mm", "ctrl_deps": 3, "ts": 110.5, "inclusive_dur": 40,
                 "exclusive_dur": 40)",
              tensor) +
         "," +
         node(R"("id": 5, "name": "gemm_kernel", "ctrl_deps": 4, "cat": "kernel", "ph": "X",
                 "ts": 130.5, "inclusive_dur": 60, "exclusive_dur": 60, "stream": 7)",
              tensor) +
         "," +
         node(R"("id": 6, "name": "c10d::allreduce_", "ctrl_deps": 2, "ts": 160.5,
                 "inclusive_dur": 20, "exclusive_dur": 20)",
              tensor) +
         "," +
         node(R"("id": 7, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                 "ctrl_deps": 6, "cat": "kernel", "ph": "X", "ts": 200.5, "inclusive_dur": 30,
                 "exclusive_dur": 30, "stream": 13, "pg_name": "0")",
              tensor) +
         "," +
         node(R"("id": 8, "name": "aten::add", "ctrl_deps": 2, "ts": 240.5, "inclusive_dur": 5,
                 "exclusive_dur": 5, "sync_dep": [7])",
              tensor) +
         "]}";
}

Result<pytorch::LoadedTrace> ConvertText(const std::string& test, const std::string& file,
                                         const std::string& text, ConvertReport* report) {
  const std::string directory = pytorch::FreshDirectory(test);
  pytorch::WriteText(directory + "/" + file, text);
  REPRISE_ASSIGN(ConvertReport made,
                 FindConverter("chakra")->convert(
                     {.input_file = directory + "/" + file, .output_file = directory + "/out.et"}));
  if (report != nullptr) {
    *report = std::move(made);
  }
  return pytorch::Load(directory + "/out.et");
}

}  // namespace reprise::chakra
