// What a policy can name of a trace, and how each of these is shared (docs/policies.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

// In the order in which policies are printed: a new one goes to the end. Each has one SharingRule,
// in a table of node_fields.h, header_fields.h or shared_fields.h.
enum class Field : std::uint8_t {
  kSetName,
  kVersion,
  kRank,
  kWorldSize,
  kBaseNs,
  kClock,
  kSource,
  kStepNames,
  kStepTimes,
  kRanges,
  kIndexRanges,
  kUntracedStepNs,
  kTracingCallNs,
  kMachine,
  kDiagnostics,
  kLink,
  kGroupDescription,
  kGroupRanks,
  kId,
  kName,
  kType,
  kDataDeps,
  kDepReasons,
  kStartNs,
  kDurationNs,
  kDelayNs,
  kTransferNs,
  kTracingNs,
  kTracingDelayNs,
  kOpKind,
  kOpClass,
  kActor,
  kTid,
  kStream,
  kDevice,
  kStep,
  kParent,
  kOp,
  kOpSchema,
  kRfId,
  kSeqId,
  kNumOps,
  kTensorSize,
  kResultsInferred,
  kOpSource,
  kGraph,
  kCorrelation,
  kLaunchRecorded,
  kGrid,
  kBlock,
  kRegistersPerThread,
  kSharedMemoryBytes,
  kCopiedBytes,
  kTensors,
  kTensorIds,
  kTensorIncarnations,
  kTensorOffsets,
  kTensorStrides,
  kTensorDevices,
  kIntegers,
  kFloats,
  kStrings,
  kResultValues,
  kPgName,
  kCommType,
  kCommBytes,
  kCommSplits,
  kCommDtype,
  kCommIndex,
  kCommSequence,
  kCommRoot,
  kCommPeer,
  kCommTag,
  kCommReduceOp,
  kCommAsync,
  kCommCertainty,
  kPlacement,
  kUntracedPageFaults,
  kUntimed,
  kCommSendEnd,
  kSamples,
  kStorageOp,
  kStorageBytes,
  kStorageFlags,
  kStoragePlace,
  kRescaled,
  kCommState,
  kCommUnmatched,
  kCommIssuedNs,
};
inline constexpr std::size_t kFieldCount = static_cast<std::size_t>(Field::kCommIssuedNs) + 1;

// How a value is kept where a policy says keep.
enum class Kept : std::uint8_t {
  kPlain,       // as it is
  kUntilEnd,    // ns of the duration, its last ones
  kUntilStart,  // ns before the start
  kTime,        // ns of no node
  kSize,        // bytes
  kName,        // also mapped, or coarsened to the class of the operation
  kOwn,         // by converters/share/anonymize/anonymize_node.cc and its neighbours
};

// Letters: k keep, m map, c coarsen, d drop.
struct SharingRule {
  Field field{};
  // What a policy may say; without d a trace is none without it. Empty: the rule of `field` is
  // elsewhere, and decides here too.
  std::string_view may;
  std::string_view presets;  // what replay, simulate and statistics say
  Kept kept = Kept::kPlain;
};
constexpr SharingRule PartOf(Field field) { return {.field = field, .may = {}, .presets = {}}; }

}  // namespace reprise
