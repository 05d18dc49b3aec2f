// Writes the nodes of one rank's program in the order in which its host thread issues them, with
// the identities, edges and actors that a capture has (docs/definitions.md).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/phase.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

using Ints = std::vector<std::int64_t>;
using Tensors = std::vector<TensorDesc>;

// A tensor, number, text or list of these as a value.
template <typename T>
[[nodiscard]] Value ToValue(const T& from) {
  if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, Tensors>) {
    ValueList list;
    for (const auto& one : from) {
      list.push_back({one});
    }
    return {std::move(list)};
  } else if constexpr (std::is_same_v<T, int>) {
    return {std::int64_t{from}};
  } else {
    return {from};
  }
}
// Values in the order of an operator's schema; kNoValue where there is none.
template <typename... T>
[[nodiscard]] ValueList Args(const T&... values) {
  ValueList list;
  list.reserve(sizeof...(values));
  (list.push_back(ToValue(values)), ...);
  return list;
}
inline constexpr NoneValue kNoValue;

// What a storage is for. By storage incarnation, of which each tensor names one.
enum class StorageUse : std::uint8_t {
  kParameter,
  kGradient,
  kOptimizer,
  kActivation,
  kInput,     // tokens, labels, masks, tables of positions
  kGathered,  // parameters of other ranks, while they are needed
};

// What a node does not say, for sums.
struct NodeFacts {
  Phase phase = Phase::kForward;
  bool recomputed = false;  // forward work that is repeated in the backward pass
  bool in_layer = false;    // of a layer, not of embedding, head or optimizer
  std::int64_t copies = 1;  // ranks that compute the same
  // Of attention in parts: without a mask, a query of this part stands for so many pairs with a
  // key; 0: for as many as the call has keys.
  std::int64_t keys = 0;
  std::string_view group;  // transfers: role of their group
};
// Gets every node once. It may change the node: it is not read afterwards.
using NodeSink = std::function<Status(Node& node, const NodeFacts& facts)>;

// A transfer that was issued; waited for by Emitter::Wait.
struct Issued {
  std::uint64_t node_id = 0;  // 0: nothing to wait for
};

// One transfer, before it has a place in its sequence.
struct TransferCall {
  CommKind kind = CommKind::kAllReduce;
  std::string group;       // role
  std::int32_t peer = -1;  // position in the group
  std::string channel;     // GPU: transfers of one channel share a stream. Empty: the group's
  TensorDesc in, out;      // undefined: none
  ReduceOp reduce = ReduceOp::kSum;
  Ints in_splits, out_splits;  // elements
  bool async = false;
};

class Emitter {
 public:
  // device "cuda": operators launch on the compute stream, transfers on streams of their own.
  // "cpu": operators compute on the host thread, transfers are their group's.
  Emitter(bool cuda, NodeSink sink);

  [[nodiscard]] bool cuda() const { return cuda_; }
  // The first error of the sink; nodes after it are dropped.
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t now() const { return now_; }  // start of the next node

  // A dense tensor in memory of its own.
  TensorDesc New(DType dtype, std::vector<std::int64_t> shape,
                 StorageUse use = StorageUse::kActivation);
  // In the host's memory, whatever the device.
  TensorDesc NewOnHost(DType dtype, std::vector<std::int64_t> shape);
  // A dense part of a tensor's storage, from `offset` elements on.
  TensorDesc Part(const TensorDesc& of, std::int64_t offset, std::vector<std::int64_t> shape);
  // Another look at the same storage.
  TensorDesc Alias(const TensorDesc& of, std::vector<std::int64_t> shape,
                   std::vector<std::int64_t> strides, std::int64_t offset);
  void SetUse(std::int64_t incarnation, StorageUse use) {
    uses_[static_cast<std::size_t>(incarnation)] = use;
  }
  // Of all storages so far, by incarnation.
  [[nodiscard]] const std::vector<StorageUse>& uses() const { return uses_; }

  // An operator that computes nothing on the device: views and allocation.
  void Host(std::string_view name, ValueList inputs, ValueList outputs);
  TensorDesc Host(std::string_view name, ValueList inputs, TensorDesc result) {
    Host(name, std::move(inputs), Args(result));
    return result;
  }
  // An operator that computes.
  void Work(std::string_view name, ValueList inputs, ValueList outputs = {});
  TensorDesc Work(std::string_view name, ValueList inputs, TensorDesc result) {
    Work(name, std::move(inputs), Args(result));
    return result;
  }
  // One that changes its first argument: a tensor, or a list of them.
  template <typename Target, typename... More>
  void InPlace(std::string_view name, const Target& target, const More&... more) {
    Work(name, Args(target, more...), Args(target));
  }
  // The host reads one element of a result: everything before it must have ended.
  void ReadItem(const TensorDesc& tensor);
  // The host waits until what operators launched has ended, and a transfer; not for sends, whose
  // receiver may wait for this rank. Nothing where operators run on the host.
  void Synchronize(Issued transfer = {});
  // Starts after all work that was issued so far.
  Issued Transfer(const TransferCall& call);
  // Work that is issued from now on starts after the transfer.
  void Wait(Issued issued);
  void SetStep(std::int32_t step) { step_ = step; }

  // Host nodes from here on are of autograd's thread, or again of the main thread. The main thread
  // waits meanwhile: the first node of each begins after the last of the other. CPU: nothing, as
  // PyTorch runs a CPU's backward functions on the calling thread.
  void OnAutogradThread(bool on);
  // A host node: where a backward function that starts now gets its edge from.
  struct HostPlace {
    std::uint64_t node_id = 0;
    std::int64_t thread = 0;
  };
  [[nodiscard]] HostPlace last_host() const { return {last_host_, thread_}; }
  // The next host node is the first of the backward function of what ended with `forward`.
  void StartBackwardOf(const HostPlace& forward) { forward_ = forward; }

  NodeFacts facts;
  std::string parent;          // of the nodes from here on
  std::int64_t sequence = -1;  // autograd's number of them

 private:
  struct Sequence {
    std::int64_t next = 0;
    std::uint64_t last_id = 0;
  };
  // The node that is next, of which Finish makes the sink's.
  Node& Begin(std::string_view name, OpKind kind, OpClass op_class);
  void Finish(Node& node);
  void HostNode(std::string_view name, OpKind kind, OpClass op_class, ValueList inputs,
                ValueList outputs);
  void DeviceNode(std::string_view name, std::string_view op, OpClass op_class, ValueList inputs,
                  ValueList outputs);
  [[nodiscard]] std::int64_t StreamOf(const std::string& channel);

  bool cuda_;
  NodeSink sink_;
  Node node_;  // one after the other: the memory of its texts and lists stays
  Status status_;
  std::uint64_t nodes_ = 0;
  std::uint64_t next_id_ = 1;
  std::int64_t now_ = 0;
  std::int64_t next_tensor_ = 1;
  std::int64_t correlation_ = 1;
  std::int32_t step_ = 0;
  std::uint64_t last_host_ = 0, last_compute_ = 0;
  std::int64_t thread_ = 1;  // the main one
  std::map<std::int64_t, std::uint64_t> last_of_thread_;
  std::uint64_t handed_over_ = 0;  // the other thread's last node, for the next host node
  HostPlace forward_;
  std::vector<std::uint64_t> compute_waits_;  // transfers that the compute stream waits for
  std::vector<Dependency> host_waits_;        // what the next host node waits for, besides
  std::map<std::string, std::int64_t> streams_;
  std::map<std::int64_t, std::uint64_t> last_of_stream_;
  std::map<std::string, Sequence> sequences_;
  std::vector<StorageUse> uses_;
};

[[nodiscard]] std::int64_t BytesOfTensor(const TensorDesc& tensor);

}  // namespace reprise
