// The attributes of nodes as tables: what reader, writer, Graph, JSON, policies and tests need to
// know of each. docs/et_format.md has their meaning; a test compares both. What the columns of a
// row mean: field_rows.h.
//
// A new attribute is an enumerator and a row here, an enumerator of Field (sharing.h), and a member
// of what has it: Node (node.h, with an accessor of Graph and a column in graph_impl.h),
// DeviceWork, or CommSpec (core/comm.h). The compiler names what is missing.
//
// Rows are in the order in which files have them, and writers go by it: a row moved changes the
// bytes of files.
#pragma once

#include "et_schema/field_rows.h"
#include "et_schema/node.h"

namespace reprise {

// In the order of the tables below.
enum class Attribute : std::uint8_t {
  kStartNs,
  kDurationNs,
  kUntimed,
  kDelayNs,
  kTransferNs,
  kTracingNs,
  kTracingDelayNs,
  kOpKind,
  kOpClass,
  kStep,
  kRfId,
  kSeqId,
  kParent,
  kOpSchema,
  kResultsInferred,
  kNumOps,
  kTensorSize,
  kCostKnown,
  kIsCpuOp,
  kActor,
  kStream,
  kTid,
  kDevice,
  kDepReasons,
  kOp,
  kOpSource,
  kGraph,
  kRescaled,
  kCorrelation,
  kLaunchRecorded,
  kGrid,
  kBlock,
  kRegistersPerThread,
  kSharedMemoryBytes,
  kCopiedBytes,
  kCommType,
  kCommSrc,
  kCommDst,
  kCommTag,
  kCommSize,
  kPgName,
  kCommInBytes,
  kCommOutBytes,
  kCommLargestBytes,
  kCommInSplits,
  kCommOutSplits,
  kCommDtype,
  kCommIndex,
  kCommSequence,
  kCommRoot,
  kCommPeer,
  kCommReduceOp,
  kCommReduceOpRecorded,
  kCommAsync,
  kCommSendEnd,
  kCommState,
  kCommUnmatched,
  kCommIssuedNs,
  kCommNoticedStartNs,
  kCommNoticedEndNs,
  kCommCertainty,
  kTensorIncarnations,
  kTensorStrides,
};
inline constexpr std::size_t kAttributeCount =
    static_cast<std::size_t>(Attribute::kTensorStrides) + 1;

// clang-format off

// Of every node. `N` is Node, or what has members of the same names: NodeView, Graph, NodeColumns.
template <typename N>
inline constexpr auto kNodeFieldsOf = std::tuple{
    NodeField<Attribute::kStartNs, &N::start_ns>{
        .name = "start_ns", .written = Always(), .json = 7,
        .sharing = {.field = Field::kStartNs, .may = "k", .presets = "kkk", .kept = Kept::kOwn}},
    NodeField<Attribute::kDurationNs, &N::duration_ns>{
        .name = "duration_ns", .written = Always(), .json = 8,
        .sharing = {.field = Field::kDurationNs, .may = "k", .presets = "kkk", .kept = Kept::kOwn}},
    NodeField<Attribute::kUntimed, &N::untimed>{
        .name = "untimed", .json = 103,
        .sharing = {.field = Field::kUntimed, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kDelayNs, &N::delay_ns>{
        .name = "delay_ns", .json = 9,
        .sharing = {.field = Field::kDelayNs, .may = "kd", .presets = "kkk", .kept = Kept::kOwn}},
    NodeField<Attribute::kTransferNs, &N::transfer_ns>{
        .name = "transfer_ns", .json = 10,
        .sharing = {.field = Field::kTransferNs, .may = "kd", .presets = "kkk",
                    .kept = Kept::kUntilEnd}},
    NodeField<Attribute::kTracingNs, &N::tracing_ns>{
        .name = "tracing_ns", .json = 11,
        .sharing = {.field = Field::kTracingNs, .may = "kd", .presets = "kkk",
                    .kept = Kept::kUntilEnd}},
    NodeField<Attribute::kTracingDelayNs, &N::tracing_delay_ns>{
        .name = "tracing_delay_ns", .json = 12,
        .sharing = {.field = Field::kTracingDelayNs, .may = "kd", .presets = "kkk",
                    .kept = Kept::kUntilStart}},
    NodeField<Attribute::kOpKind, &N::kind>{
        .name = "op_kind", .written = Always("by name"), .json = 3,
        .sharing = {.field = Field::kOpKind, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kOpClass, &N::op_class>{
        .name = "op_class", .written = Always("by name"), .json = 4,
        .sharing = {.field = Field::kOpClass, .may = "kd", .presets = "kkk"}},
    NodeField<Attribute::kStep, &N::step>{
        .name = "step", .json = 13,
        .sharing = {.field = Field::kStep, .may = "kd", .presets = "kkk"}},
    NodeField<Attribute::kRfId, &N::rf_id>{
        .name = "rf_id", .json = 14,
        .sharing = {.field = Field::kRfId, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kSeqId, &N::seq_id>{
        .name = "seq_id", .json = 15,
        .sharing = {.field = Field::kSeqId, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kParent, &N::parent>{
        .name = "parent", .json = 16,
        .sharing = {.field = Field::kParent, .may = "kmd", .presets = "mdd", .kept = Kept::kName}},
    NodeField<Attribute::kOpSchema, &N::op_schema>{
        .name = "op_schema", .json = 17,
        .sharing = {.field = Field::kOpSchema, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kResultsInferred, &N::results_inferred>{
        .name = "results_inferred", .json = 102,
        .sharing = {.field = Field::kResultsInferred, .may = "kd", .presets = "kdd"}},
    NodeField<Attribute::kNumOps, &N::num_ops>{
        .name = "num_ops", .json = 105,
        .sharing = {.field = Field::kNumOps, .may = "kd", .presets = "kkd", .kept = Kept::kOwn}},
    NodeField<Attribute::kTensorSize, &N::tensor_bytes, field::Uint64>{
        .name = "tensor_size", .json = 106, .key = "tensor_bytes",
        .sharing = {.field = Field::kTensorSize, .may = "kd", .presets = "kkd",
                    .kept = Kept::kSize}},
    ComputedField<Attribute::kCostKnown, field::Bool>{
        .name = "cost_known", .written = Always("true")},
    // Node::actor and Node::deps.
    ComputedField<Attribute::kIsCpuOp, field::Bool>{.name = "is_cpu_op", .written = Always()},
    ComputedField<Attribute::kActor, field::Text>{.name = "actor", .written = Always("`thread`")},
    ComputedField<Attribute::kStream, field::Int64>{.name = "stream", .written = Always()},
    ComputedField<Attribute::kTid, field::Int64>{.name = "tid", .written = Always("0")},
    ComputedField<Attribute::kDevice, field::Int32>{.name = "device", .written = Always("−1")},
    ComputedField<Attribute::kDepReasons, field::Int32List>{
        .name = "dep_reasons", .written = Always("0 each")},
    NodeField<Attribute::kOp, &N::op>{
        .name = "op", .json = 101,
        .sharing = {.field = Field::kOp, .may = "kmcd", .presets = "mcc", .kept = Kept::kName}},
    NodeField<Attribute::kOpSource, &N::op_source>{
        .name = "op_source", .written = IfSet("`launch`"), .json = 107,
        .sharing = {.field = Field::kOpSource, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kGraph, &N::graph>{
        .name = "graph", .json = 108,
        .sharing = {.field = Field::kGraph, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kRescaled, &N::rescaled>{
        .name = "rescaled", .written = IfSet("`no`"), .json = 109,
        .sharing = {.field = Field::kRescaled, .may = "kd", .presets = "kkd"}}};
inline constexpr const auto& kNodeFields = kNodeFieldsOf<Node>;

// Of device nodes.
inline constexpr auto kDeviceFields = std::tuple{
    NodeField<Attribute::kCorrelation, &DeviceWork::correlation>{
        .name = "correlation", .written = Always(),
        .sharing = {.field = Field::kCorrelation, .may = "kmd", .presets = "mdd",
                    .kept = Kept::kOwn}},
    NodeField<Attribute::kLaunchRecorded, &DeviceWork::launch_recorded>{
        .name = "launch_recorded",
        .sharing = {.field = Field::kLaunchRecorded, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kGrid, &DeviceWork::grid>{
        .name = "grid", .written = IfSet("0, 0, 0"),
        .sharing = {.field = Field::kGrid, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kBlock, &DeviceWork::block>{
        .name = "block", .written = IfSet("0, 0, 0"),
        .sharing = {.field = Field::kBlock, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kRegistersPerThread, &DeviceWork::registers_per_thread>{
        .name = "registers_per_thread",
        .sharing = {.field = Field::kRegistersPerThread, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kSharedMemoryBytes, &DeviceWork::shared_memory_bytes>{
        .name = "shared_memory_bytes",
        .sharing = {.field = Field::kSharedMemoryBytes, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kCopiedBytes, &DeviceWork::copied_bytes>{
        .name = "copied_bytes",
        .sharing = {.field = Field::kCopiedBytes, .may = "kd", .presets = "kkd",
                    .kept = Kept::kSize}}};

// Of transfers.
inline constexpr auto kTransferFields = std::tuple{
    NodeField<Attribute::kCommType, &CommSpec::kind>{
        .name = "comm_type", .written = Always("unknown"), .json = 1, .key = "kind",
        .sharing = {.field = Field::kCommType, .may = "k", .presets = "kkk"}},
    ComputedField<Attribute::kCommSrc, field::Int32>{
        .name = "comm_src", .written = Always("unknown")},
    ComputedField<Attribute::kCommDst, field::Int32>{
        .name = "comm_dst", .written = Always("unknown")},
    NodeField<Attribute::kCommTag, &CommSpec::tag>{
        .name = "comm_tag", .json = 13,
        .sharing = {.field = Field::kCommTag, .may = "kd", .presets = "kkd"}},
    ComputedField<Attribute::kCommSize, field::Int64>{
        .name = "comm_size", .written = Always("unknown")},
    NodeField<Attribute::kPgName, &CommSpec::group>{
        .name = "pg_name", .json = 2, .key = "group",
        .sharing = {.field = Field::kPgName, .may = "km", .presets = "mmm", .kept = Kept::kOwn}},
    NodeField<Attribute::kCommInBytes, &CommSpec::in_bytes>{
        .name = "comm_in_bytes", .written = Always("`comm_size`"), .json = 7,
        .sharing = PartOf(Field::kCommBytes)},
    NodeField<Attribute::kCommOutBytes, &CommSpec::out_bytes>{
        .name = "comm_out_bytes", .written = Always("`comm_size`"), .json = 8,
        .sharing = PartOf(Field::kCommBytes)},
    NodeField<Attribute::kCommLargestBytes, &CommSpec::largest_bytes>{
        .name = "comm_largest_bytes", .json = 101, .sharing = PartOf(Field::kCommBytes)},
    NodeField<Attribute::kCommInSplits, &CommSpec::in_splits>{
        .name = "comm_in_splits", .written = IfSet("even"), .json = 9,
        .sharing = PartOf(Field::kCommSplits)},
    NodeField<Attribute::kCommOutSplits, &CommSpec::out_splits>{
        .name = "comm_out_splits", .written = IfSet("even"), .json = 10,
        .sharing = PartOf(Field::kCommSplits)},
    NodeField<Attribute::kCommDtype, &CommSpec::dtype>{
        .name = "comm_dtype", .written = IfSet("unknown"), .json = 6,
        .sharing = {.field = Field::kCommDtype, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kCommIndex, &CommSpec::index>{
        .name = "comm_index", .written = Always("by order"), .json = 4,
        .sharing = {.field = Field::kCommIndex, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kCommSequence, &CommSpec::sequence>{
        .name = "comm_sequence", .json = 5,
        .sharing = {.field = Field::kCommSequence, .may = "kd", .presets = "ddd"}},
    NodeField<Attribute::kCommRoot, &CommSpec::root>{
        .name = "comm_root", .json = 11,
        .sharing = {.field = Field::kCommRoot, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kCommPeer, &CommSpec::peer>{
        .name = "comm_peer", .written = IfSet("`comm_dst`/`comm_src`"), .json = 12,
        .sharing = {.field = Field::kCommPeer, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kCommReduceOp, &CommSpec::op>{
        .name = "comm_reduce_op", .written = Always("`sum`"), .json = 14,
        .sharing = {.field = Field::kCommReduceOp, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kCommReduceOpRecorded, &CommSpec::op_recorded>{
        .name = "comm_reduce_op_recorded", .json = 15, .sharing = PartOf(Field::kCommReduceOp)},
    NodeField<Attribute::kCommAsync, &CommSpec::async>{
        .name = "comm_async", .json = 16,
        .sharing = {.field = Field::kCommAsync, .may = "kd", .presets = "kkd"}},
    NodeField<Attribute::kCommSendEnd, &CommSpec::send_end>{
        .name = "comm_send_end", .written = IfSet("`received`"), .json = 102,
        .sharing = {.field = Field::kCommSendEnd, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kCommState, &CommSpec::state>{
        .name = "comm_state", .written = IfSet("`completed`"), .json = 103,
        .sharing = {.field = Field::kCommState, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kCommUnmatched, &CommSpec::unmatched>{
        .name = "comm_unmatched", .json = 104,
        .sharing = {.field = Field::kCommUnmatched, .may = "k", .presets = "kkk"}},
    NodeField<Attribute::kCommIssuedNs, &CommSpec::issued_ns>{
        .name = "comm_issued_ns", .json = 105,
        .sharing = {.field = Field::kCommIssuedNs, .may = "kd", .presets = "kkd",
                    .kept = Kept::kTime}},
    NodeField<Attribute::kCommNoticedStartNs, &CommSpec::noticed_start_ns>{
        .name = "comm_noticed_start_ns", .json = 106,
        .sharing = {.field = Field::kCommIssuedNs, .may = {}, .presets = {}, .kept = Kept::kTime}},
    NodeField<Attribute::kCommNoticedEndNs, &CommSpec::noticed_end_ns>{
        .name = "comm_noticed_end_ns", .json = 107,
        .sharing = {.field = Field::kCommIssuedNs, .may = {}, .presets = {}, .kept = Kept::kTime}},
    NodeField<Attribute::kCommCertainty, &CommSpec::certainty>{
        .name = "comm_certainty", .written = Always("by name"), .json = 3,
        .sharing = {.field = Field::kCommCertainty, .may = "k", .presets = "kkk"}}};

// Of arguments: Node::inputs and Node::outputs.
inline constexpr auto kArgumentFields = std::tuple{
    ComputedField<Attribute::kTensorIncarnations, field::Sint64List>{
        .name = "tensor_incarnations", .written = Always("storage id")},
    ComputedField<Attribute::kTensorStrides, field::Sint64List>{
        .name = "tensor_strides", .written = Always("contiguous")}};

// clang-format on

inline constexpr auto kAttributes =
    std::tuple_cat(kNodeFields, kDeviceFields, kTransferFields, kArgumentFields);

consteval bool AttributesAreInOrder() {
  std::size_t next = 0;
  bool in_order = true;
  ForEachAttribute(kAttributes, [&]<typename Row>(const Row&) {
    in_order = in_order && static_cast<std::size_t>(Row::kAttribute) == next++;
  });
  return in_order && next == kAttributeCount;
}
static_assert(AttributesAreInOrder(), "Attribute and the tables differ");
static_assert(MemberRows(kNodeFields) == MemberCount<NodeFields<std::string_view>>(),
              "a member of NodeFields has no row");
static_assert(MemberRows(kDeviceFields) == MemberCount<DeviceWork>(),
              "a member of DeviceWork has no row");
// But for bytes_known and outside, which are not in files.
static_assert(MemberRows(kTransferFields) + 2 == MemberCount<CommSpec>(),
              "a member of CommSpec has no row");

}  // namespace reprise
