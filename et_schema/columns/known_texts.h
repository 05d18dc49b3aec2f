// Texts that most traces have, so that small packages need not: part of the format "columns-1", in
// this order. Never changed: another list is another format. Only et_schema/columns sees this.
#pragma once

#include <array>
#include <string_view>

namespace reprise::columns {

// clang-format off
inline constexpr std::array<std::string_view, 112> kKnownTexts = {
    "reprise_format", "rank", "world_size", "base_ns", "source", "untraced_step_ns",
    "clock_offset_ns", "clock_drift", "clock_uncertainty_ns", "step_names", "step_starts_ns",
    "step_durations_ns", "range_names", "ranges", "diagnostics_names", "diagnostics_counts",
    "link_method", "link_choice", "link_numbers", "link_threads", "link_unmatched", "node_count",
    "start_ns", "duration_ns", "delay_ns", "transfer_ns", "op_kind", "op_class", "step", "rf_id",
    "seq_id", "parent", "op_schema", "results_inferred", "num_ops", "tensor_size", "is_cpu_op",
    "actor", "stream", "tid", "device", "dep_reasons", "op", "correlation", "launch_recorded",
    "grid", "block", "registers_per_thread", "shared_memory_bytes", "copied_bytes", "comm_type",
    "comm_src", "comm_dst", "comm_size", "pg_name", "comm_tag", "comm_in_bytes", "comm_out_bytes",
    "comm_in_splits", "comm_out_splits", "comm_dtype", "comm_index", "comm_sequence", "comm_root",
    "comm_peer", "comm_reduce_op", "comm_reduce_op_recorded", "comm_async", "comm_certainty",
    "tensor_incarnations", "tensor_strides", "", "trace", "record function id", "only one",
    "kineto alone", "work", "composite", "metadata", "wait", "comm", "other", "gemm", "attention",
    "conv", "norm", "elementwise", "reduction", "softmax", "loss", "embedding", "index", "sort",
    "copy", "fill", "random", "pool", "optimizer", "host", "group", "0", "1", "2", "float32",
    "bfloat16", "float16", "int64", "sum", "recorded", "inferred", "unknown", "[]"};
// clang-format on

}  // namespace reprise::columns
