// Small captures written by tests: a host trace and a Kineto trace of one rank, as PyTorch's
// observers would have written them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/io.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// One argument: the host trace's value, shape, stride and type.
struct Arg {
  nlohmann::json value, shape = nlohmann::json::array(), stride = nlohmann::json::array();
  std::string type;
};
Arg TensorArg(int storage, std::vector<std::int64_t> shape, const std::string& dtype = "float",
              std::int64_t offset = 0);
Arg UndefinedArg();
Arg IntArg(std::int64_t value);
Arg BoolArg(bool value);
Arg DoubleArg(double value);
Arg LiteralArg(const std::string& type);  // "None" → "<None>", type None
Arg ListArg(std::vector<Arg> items, const std::string& kind = "GenericList");

struct SyntheticOp {
  std::string name;
  double start_us = 0, duration_us = 1;
  std::int64_t tid = 100;  // Kineto's thread
  std::vector<Arg> inputs = {}, outputs = {};
  std::string schema = "some::schema(Tensor x) -> Tensor";
  std::string category = "cpu_op";
  int scope = 0;
  std::int64_t host_thread = 1;
  std::int64_t seq_id = -1, forward_thread = 0;
  std::int64_t caller = 2;  // the host trace's ctrl_deps: may be anything
  bool in_host = true, in_kineto = true;
  nlohmann::json comm = {};         // record_param_comms: more host attributes
  nlohmann::json kineto_args = {};  // more Kineto args
};

class SyntheticCapture {
 public:
  explicit SyntheticCapture(int rank = 0, int world_size = 1);
  // Operations in order of creation: that is what record-function ids count.
  SyntheticCapture& Add(SyntheticOp op);
  // [{"pg_name": …, "pg_desc": …, "ranks": […], "group_size": n}]
  SyntheticCapture& Groups(nlohmann::json groups);
  // A step around everything that was added.
  SyntheticCapture& Step(double start_us, double duration_us);
  // gloo: the call on the main thread, the transfer on a worker.
  SyntheticCapture& AllReduce(double call_us, double start_us, double end_us, int storage,
                              std::int64_t elements, std::int64_t worker = 200,
                              bool blocking = true);

  // GPU captures. A runtime call, and what a call of that correlation ran on a stream of device 0;
  // `args` are added to the event's.
  SyntheticCapture& Call(const std::string& name, double start_us, double duration_us,
                         std::int64_t correlation, std::int64_t tid = 100);
  SyntheticCapture& Kernel(const std::string& name, double start_us, double duration_us,
                           std::int64_t correlation, std::int64_t stream = 7,
                           const std::string& category = "kernel", nlohmann::json args = {});
  // CUPTI's record of what a waiting call waited for.
  SyntheticCapture& Sync(const std::string& kind, std::int64_t correlation, std::int64_t stream,
                         std::int64_t source_stream = -1, std::int64_t source_correlation = -1);

  [[nodiscard]] std::string HostText() const;
  [[nodiscard]] std::string KinetoText() const;
  // rank<N>.et.json and rank<N>.kineto.json.
  void Write(const std::string& directory) const;

  std::string schema = "1.1.1-chakra.0.0.4";
  static constexpr std::int64_t kBaseNs = 1'700'000'000'000'000'000;

 private:
  int rank_, world_size_;
  nlohmann::json nodes_, events_, groups_;
  std::int64_t next_rf_ = 1, next_id_ = 3;
};

// A fresh directory under the build tree, removed first if it is there.
std::string FreshDirectory(const std::string& name);
void WriteText(const std::string& path, const std::string& text);

// All nodes of a file, and its metadata.
struct LoadedTrace {
  TraceMetadata metadata;
  std::vector<Node> nodes;
  [[nodiscard]] const Node* Find(const std::string& name, std::size_t nth = 0) const;
  [[nodiscard]] const Node* ById(std::uint64_t id) const;
  [[nodiscard]] std::uint64_t Diagnostic(const std::string& name) const;
  // The reason of the edge between two nodes; kUnknown: there is none.
  [[nodiscard]] EdgeReason Edge(const Node& from, const Node& to) const;
};
Result<LoadedTrace> Load(const std::string& path);

// Converts `captures` (one a rank) by way of a directory; loads all ranks.
Result<std::vector<LoadedTrace>> ConvertAll(const std::string& name,
                                            const std::vector<SyntheticCapture>& captures);

}  // namespace reprise::pytorch
