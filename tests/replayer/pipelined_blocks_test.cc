// Transfers with a block for each member, in chunks: the same bytes as moved whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "kernels/backend.h"
#include "replayer/engine/pipelined_transfer.h"
#include "tests/replayer/staging_fixture.h"
#include "tests/skip.h"

namespace reprise::testing {
namespace {

enum class Tensors {
  kOne,      // on each side
  kList,     // one for each block, each in a storage of its own
  kOdd,      // several that end within blocks
  kInPlace,  // the smaller side is this member's block of the larger
};
struct BlockCase {
  CommKind kind;
  DType dtype;
  std::int64_t block_elements;
  Tensors tensors;
  bool listed = false;  // equal splits are named
};

struct Member {
  int rank;
  int size;
  Device* device;
  Stream* stream;
  GroupComm* group;
};

// The tensors of one member's transfer on its device. Every storage begins and ends with an element
// that no tensor has.
struct Laid {
  Storages storages;
  OpCall call{.name = "collective", .inputs = {}, .outputs = {}};
};

Status AddTensors(const Member& member, DType dtype, std::int64_t elements,
                  std::int64_t most_elements, Laid& laid, ValueList& values) {
  for (std::int64_t at = 0; at < elements; at += most_elements) {
    const std::int64_t here = std::min(most_elements, elements - at);
    const auto number = static_cast<std::int64_t>(laid.storages.buffers.size());
    REPRISE_ASSIGN(laid.storages.buffers[number],
                   member.device->Allocate((here + 2) * SizeOf(dtype)));
    values.push_back({Part(number, 1, here, dtype)});
  }
  return {};
}

Status Lay(const Member& member, const BlockCase& one, const CommSpec& spec, Laid& laid) {
  const std::int64_t in = spec.in_bytes / SizeOf(spec.dtype);
  const std::int64_t out = spec.out_bytes / SizeOf(spec.dtype);
  const std::int64_t most = one.tensors == Tensors::kList  ? one.block_elements
                            : one.tensors == Tensors::kOdd ? one.block_elements * 2 / 3
                                                           : std::max(in, out);
  const std::int64_t own = 1 + member.rank * one.block_elements;
  const bool in_is_part = one.tensors == Tensors::kInPlace && in <= out;
  const bool out_is_part = one.tensors == Tensors::kInPlace && !in_is_part;
  if (!in_is_part) {
    REPRISE_TRY(AddTensors(member, spec.dtype, in, most, laid, laid.call.inputs));
  }
  if (!out_is_part) {
    REPRISE_TRY(AddTensors(member, spec.dtype, out, most, laid, laid.call.outputs));
  }
  if (in_is_part) {
    laid.call.inputs.push_back({Part(0, own, in, spec.dtype)});
  }
  if (out_is_part) {
    laid.call.outputs.push_back({Part(0, own, out, spec.dtype)});
  }
  return {};
}

// Bytes whose sums over 3 members overflow in no integer.
std::vector<std::byte> BytesOf(int rank, std::int64_t storage, std::int64_t bytes) {
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::byte>(
        (i * 7 + static_cast<std::size_t>(rank) * 13 + static_cast<std::size_t>(storage) * 5) % 41);
  }
  return values;
}

using Contents = std::vector<std::vector<std::byte>>;  // by storage

Status Move(const Member& member, const CommSpec& spec, const Laid& laid,
            std::int64_t chunk_bytes) {
  REPRISE_ASSIGN(Staging staging,
                 Staging::Create(spec, laid.call, &laid.storages, member.device, false));
  if (chunk_bytes == 0) {
    REPRISE_TRY(staging.Download(*member.stream));
    REPRISE_ASSIGN(const auto whole, member.group->Start(spec, staging.in(), staging.out()));
    REPRISE_TRY(WaitFor(*whole));
    return staging.Upload(*member.stream);
  }
  const auto cut = CutOf(spec, member.size, chunk_bytes);
  if (!cut) {
    return CheckFailed("not cut");
  }
  PipelinedTransfer transfer(*member.group, spec, staging, member.stream, *cut);
  REPRISE_TRY(WaitFor(transfer));
  return transfer.AllStarted() ? Status{} : CheckFailed("done, but not all started");
}

// What all storages hold after the transfer; `changed`, whether that is something else than before.
Result<Contents> After(const Member& member, const BlockCase& one, std::int64_t chunk_bytes,
                       bool& changed) {
  CommSpec spec = BlockSpec(one.kind, one.dtype, one.block_elements * SizeOf(one.dtype),
                            member.rank, member.size);
  if (one.listed) {
    const bool gathers = one.kind == CommKind::kAllGather || one.kind == CommKind::kGather;
    (gathers ? spec.out_splits : spec.in_splits)
        .assign(static_cast<std::size_t>(member.size), one.block_elements);
  }
  Laid laid;
  REPRISE_TRY(Lay(member, one, spec, laid));
  Contents before;
  for (const auto& [number, buffer] : laid.storages.buffers) {
    before.push_back(BytesOf(member.rank, number, buffer->size_bytes()));
    REPRISE_TRY(member.stream->Upload(*buffer, 0, before.back().data(), buffer->size_bytes()));
  }
  REPRISE_TRY(member.stream->Finish());
  REPRISE_TRY(Move(member, spec, laid, chunk_bytes));
  Contents after = before;
  for (const auto& [number, buffer] : laid.storages.buffers) {
    REPRISE_TRY(member.stream->Download(after[static_cast<std::size_t>(number)].data(), *buffer, 0,
                                        buffer->size_bytes()));
  }
  REPRISE_TRY(member.stream->Finish());
  changed = after != before;
  return after;
}

// In chunks that divide the block, that do not, and that are no whole number of elements.
Status Compare(const Member& member, const BlockCase& one) {
  const std::string words =
      fmt::format("{} of {}, tensors {}, {} members", Name(one.kind), Name(one.dtype),
                  static_cast<int>(one.tensors), member.size);
  const std::int64_t element = SizeOf(one.dtype);
  bool changed = false;
  REPRISE_ASSIGN(const Contents whole, After(member, one, 0, changed));
  const bool receives = one.kind != CommKind::kGather || member.rank == kRoot;
  if (changed != receives && member.size > 1) {
    return CheckFailed(words + ": whole: what changes is not what is received");
  }
  for (const std::int64_t chunk_bytes :
       {one.block_elements / 4 * element, 7 * element, 5 * element - 1}) {
    REPRISE_ASSIGN(const Contents cut, After(member, one, chunk_bytes, changed));
    if (cut != whole) {
      return CheckFailed(fmt::format("{}: chunks of {} bytes differ", words, chunk_bytes));
    }
  }
  return {};
}

Status CompareAll(Communicator& communicator, const std::string& backend) {
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = backend}));
  REPRISE_ASSIGN(const auto stream, device->CreateStream(false));
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(ranks));
  const Member member{communicator.rank(), communicator.size(), device.get(), stream.get(),
                      group.get()};
  for (const CommKind kind : kBlockKinds) {
    const bool in_place = kind == CommKind::kAllGather || kind == CommKind::kReduceScatter;
    for (const DType dtype : {DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
      for (const Tensors tensors : {Tensors::kOne, Tensors::kList, Tensors::kOdd}) {
        REPRISE_TRY(Compare(member, {kind, dtype, 24, tensors}));
      }
      if (in_place) {
        REPRISE_TRY(Compare(member, {kind, dtype, 24, Tensors::kInPlace}));
      }
    }
    if (kind != CommKind::kAllToAll) {
      REPRISE_TRY(Compare(member, {kind, DType::kInt32, 24, Tensors::kOne, true}));
    }
  }
  return {};
}

class PipelinedBlocks : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(PipelinedBlocks, AreThoseOfTheWholeTransfer) {
  const auto& [backend, size] = GetParam();
  const auto devices = ListDevices(backend);
  if (!devices || devices->empty()) {
    REPRISE_SKIP(backend, "no device of this backend");
  }
  auto communicators = CreateLocalCommunicators(size);
  std::vector<Status> outcomes(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      threads.emplace_back([&, rank, backend = backend] {
        outcomes[rank] = CompareAll(*communicators[rank], backend);
        if (!outcomes[rank]) {
          communicators[rank]->RaiseAbort(outcomes[rank].error());
        }
      });
    }
  }
  for (const Status& outcome : outcomes) {
    EXPECT_TRUE(outcome) << outcome.error().message;
  }
}
INSTANTIATE_TEST_SUITE_P(Backends, PipelinedBlocks,
                         ::testing::Combine(::testing::ValuesIn(BackendNames()),
                                            ::testing::Values(1, 3)));

}  // namespace
}  // namespace reprise::testing
