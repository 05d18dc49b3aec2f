#include "collectives/transport/mpi_state.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>

#include "collectives/host_reduction.h"
#include "core/clock.h"

namespace reprise {
namespace {

constexpr int kAbortTag = 1;
constexpr int kNoteTag = 2;
constexpr std::size_t kAbortBytes = Communicator::kNoteBytes;
constexpr std::int64_t kAbortSendNs = 1'000'000'000;

// MPI has no 16-bit floats; a user function gets its operands only by these parameters.
template <DType kDType, ReduceOp kOp>
void ReduceHalf(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const std::size_t bytes = static_cast<std::size_t>(*count) * 2;
  ReduceInto(kDType, kOp, {static_cast<const std::byte*>(in), bytes},
             {static_cast<std::byte*>(inout), bytes});
}

constexpr std::array<MPI_User_function*, 8> kHalfFunctions = {
    ReduceHalf<DType::kFloat16, ReduceOp::kSum>,  ReduceHalf<DType::kFloat16, ReduceOp::kProd>,
    ReduceHalf<DType::kFloat16, ReduceOp::kMin>,  ReduceHalf<DType::kFloat16, ReduceOp::kMax>,
    ReduceHalf<DType::kBFloat16, ReduceOp::kSum>, ReduceHalf<DType::kBFloat16, ReduceOp::kProd>,
    ReduceHalf<DType::kBFloat16, ReduceOp::kMin>, ReduceHalf<DType::kBFloat16, ReduceOp::kMax>,
};

std::size_t HalfIndex(DType dtype, ReduceOp op) {
  const std::size_t base = dtype == DType::kFloat16 ? 0 : 4;
  switch (op) {
    case ReduceOp::kProd:
      return base + 1;
    case ReduceOp::kMin:
      return base + 2;
    case ReduceOp::kMax:
      return base + 3;
    default:
      return base;  // sum, avg
  }
}

MPI_Op BoolOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProd:
    case ReduceOp::kMin:
    case ReduceOp::kBand:
      return MPI_LAND;
    case ReduceOp::kBxor:
      return MPI_LXOR;
    default:
      return MPI_LOR;
  }
}

MPI_Op PlainOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return MPI_SUM;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kProd:
      return MPI_PROD;
    case ReduceOp::kBand:
      return MPI_BAND;
    case ReduceOp::kBor:
      return MPI_BOR;
    case ReduceOp::kBxor:
      return MPI_BXOR;
  }
  return MPI_OP_NULL;
}

MPI_Datatype PlainType(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return MPI_FLOAT;
    case DType::kFloat64:
      return MPI_DOUBLE;
    case DType::kInt8:
      return MPI_INT8_T;
    case DType::kUInt8:
      return MPI_UINT8_T;
    case DType::kInt16:
      return MPI_INT16_T;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    case DType::kComplex64:
      return MPI_C_FLOAT_COMPLEX;
    case DType::kComplex128:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      return MPI_DATATYPE_NULL;
  }
}

}  // namespace

Status CheckMpi(int code, const char* call) {
  if (code == MPI_SUCCESS) {
    return {};
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return EnvironmentError(
      fmt::format("{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

Status MpiState::Open() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REPRISE_TRY(CheckMpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank"));
  REPRISE_TRY(CheckMpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size"));
  const int* limit = nullptr;
  int known = 0;
  REPRISE_TRY(
      CheckMpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &known),
               "MPI_Comm_get_attr"));
  most_tag = known != 0 ? *limit : most_tag;
  for (MPI_Comm* comm : {&base, &coordination, &farewell}) {
    REPRISE_TRY(CheckMpi(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup"));
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  }
  for (MPI_User_function* function : kHalfFunctions) {
    REPRISE_TRY(CheckMpi(MPI_Op_create(function, 1, &half_ops_.emplace_back(MPI_OP_NULL)),
                         "MPI_Op_create"));
  }
  return {};
}

void MpiState::Close() {
  for (MPI_Comm& comm : groups) {
    MPI_Comm_free(&comm);
  }
  groups.clear();
  for (MPI_Op& op : half_ops_) {
    MPI_Op_free(&op);
  }
  MPI_Comm_free(&farewell);
  MPI_Comm_free(&coordination);
  MPI_Comm_free(&base);
}

MpiReduction MpiState::ReductionOf(DType dtype, ReduceOp op) const {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
      return {.type = MPI_UINT16_T, .op = half_ops_[HalfIndex(dtype, op)], .type_bytes = 2};
    case DType::kBool:
      return {.type = MPI_UINT8_T, .op = BoolOp(op), .type_bytes = 1};
    default:
      return {.type = PlainType(dtype), .op = PlainOp(op), .type_bytes = SizeOf(dtype)};
  }
}

void MpiState::RaiseAbort(const Error& why) {
  const std::lock_guard lock(abort_mutex_);
  if (abort_ || (!Unfinished() && LookForAbort())) {
    return;  // all ranks have the reason, or it is under way
  }
  abort_ = Error{why.kind, fmt::format("rank {}: {}", rank, why.message)};
  SendAbort();
  aborted_.store(true, std::memory_order_release);
}

void MpiState::SendAbort() {
  abort_text_ = std::to_string(static_cast<int>(abort_->kind)) + abort_->message;
  abort_text_.resize(std::min(abort_text_.size(), kAbortBytes));
  const auto guard = Guard();
  for (int peer = 0; peer < size; ++peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (peer != rank &&
        MPI_Isend(abort_text_.data(), static_cast<int>(abort_text_.size()), MPI_CHAR, peer,
                  kAbortTag, coordination, &request) == MPI_SUCCESS) {
      abort_sends_.push_back(request);
    }
  }
  if (Unfinished()) {
    return;
  }
  // A first message to a host opens a connection, which takes progress: this rank will make none
  // once it has left.
  const std::int64_t deadline_ns = MonotonicNs() + kAbortSendNs;
  int done = 0;
  while (done == 0 && MonotonicNs() < deadline_ns) {
    if (MPI_Testall(static_cast<int>(abort_sends_.size()), abort_sends_.data(), &done,
                    MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
      break;  // a peer is gone; the others have the reason
    }
    sched_yield();
  }
}

// abort_mutex_ is held.
std::optional<Error> MpiState::LookForAbort() {
  const auto guard = Guard();
  int flag = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, kAbortTag, coordination, &flag, &status) != MPI_SUCCESS ||
      flag == 0) {
    return std::nullopt;
  }
  std::string text(kAbortBytes, '\0');
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  if (length < 1 ||
      MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_CHAR, status.MPI_SOURCE, kAbortTag,
               coordination, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(length));
  abort_ = Error{static_cast<ErrorKind>(text.front() - '0'), text.substr(1)};
  aborted_.store(true, std::memory_order_release);
  return abort_;
}

std::optional<Error> MpiState::PollAbort() {
  const std::lock_guard lock(abort_mutex_);
  return abort_ || Unfinished() ? abort_ : LookForAbort();
}

std::optional<Error> MpiState::PollAbortSometimes() {
  constexpr unsigned kEvery = 256;  // tests take 0.2-1 us each
  if (!Aborted() && polls_.fetch_add(1, std::memory_order_relaxed) % kEvery != kEvery - 1) {
    return std::nullopt;
  }
  return PollAbort();
}

void MpiState::PostNote(int to, std::string text) {
  if (Aborted() || Unfinished()) {
    return;
  }
  text.resize(std::min(text.size(), Communicator::kCarriedNoteBytes));
  const std::lock_guard lock(notes_mutex_);
  const auto guard = Guard();
  std::erase_if(notes_, [](SentNote& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  SentNote& note = notes_.emplace_back(SentNote{std::move(text)});
  if (MPI_Isend(note.text.data(), static_cast<int>(note.text.size()), MPI_CHAR, to, kNoteTag,
                coordination, &note.request) != MPI_SUCCESS) {
    notes_.pop_back();  // the receiver is gone: it will not answer, which is what counts
  }
}

std::optional<Note> MpiState::TakeNote() {
  if (Aborted() || Unfinished()) {
    return std::nullopt;
  }
  const auto guard = Guard();
  int flag = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, coordination, &flag, &status) != MPI_SUCCESS ||
      flag == 0) {
    return std::nullopt;
  }
  std::string text(Communicator::kCarriedNoteBytes, '\0');
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  if (MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_CHAR, status.MPI_SOURCE, kNoteTag,
               coordination, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  return Note{status.MPI_SOURCE, std::move(text)};
}

Result<bool> MpiState::WaitFor(MPI_Request& request, std::int64_t deadline_ns, bool heed_abort) {
  constexpr std::int64_t kSpinNs = 10'000'000;  // then it takes long: leave the core to others
  const std::int64_t start_ns = MonotonicNs();
  while (true) {
    int done = 0;
    {
      const auto guard = Guard();
      REPRISE_TRY(CheckMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    }
    if (done != 0) {
      return true;
    }
    const std::int64_t now_ns = MonotonicNs();
    if (deadline_ns >= 0 && now_ns > deadline_ns) {
      return false;
    }
    const bool patient = now_ns - start_ns > kSpinNs;
    if (heed_abort) {
      if (const auto why = patient ? PollAbort() : PollAbortSometimes()) {
        return tl::unexpected<Error>(*why);
      }
    }
    if (patient) {
      WaitUntilNs(now_ns + 200'000, 0);
    } else {
      sched_yield();
    }
  }
}

void MpiState::Keep(std::vector<std::byte> bytes) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::move(bytes));
}

}  // namespace reprise
