// SPDX-License-Identifier: Apache-2.0
// Checks that products, images and norms share.
#pragma once

#include "toolkit/api/mudnn/common.h"

#include <initializer_list>

namespace musa_standin::api {

struct Operand {
  const char* name;
  const View* view;
};

// SUCCESS, or the refusal for the first operand that is unusable or, as these
// operators want all of theirs, not dense.
inline Status check_dense(
    const char* op,
    std::initializer_list<Operand> operands) {
  for (const Operand& o : operands) {
    if (const char* fault = operand_fault(*o.view))
      return refuse(Status::INVALID_PARAMETER, "%s: %s %s", op, o.name, fault);
    if (!o.view->dense)
      return refuse(
          Status::NOT_SUPPORTED,
          "%sRun only support contiguous tensor",
          op);
  }
  return Status::SUCCESS;
}

// The same for operands that may be absent.
inline Status check_optional(
    const char* op,
    std::initializer_list<Operand> operands) {
  for (const Operand& o : operands) {
    if (o.view->rank == 0)
      continue;
    const Status status = check_dense(op, {o});
    if (status != Status::SUCCESS)
      return status;
  }
  return Status::SUCCESS;
}

[[gnu::cold]] inline Status
refuse_type(const char* op, const char* operand, Dtype type) {
  return refuse(
      Status::NOT_SUPPORTED,
      "Invalid %s data type of %s: %s",
      op,
      operand,
      type_name(type));
}

[[gnu::cold]] inline Status refuse_sizes(const char* op, const char* operand) {
  return refuse(
      Status::INVALID_PARAMETER,
      "%s: the sizes of %s do not fit",
      op,
      operand);
}

// Workspace for the operators that work without a maintainer too: then it comes
// from the device's pool, in the stream's order.
class OptionalWorkspace {
 public:
  OptionalWorkspace(
      engine::Stream& stream,
      size_t bytes,
      const MemoryMaintainer& maintainer)
      : stream_(stream), asked_(maintainer ? bytes : 0, maintainer) {
    if (maintainer || bytes == 0)
      return;
    engine::Runtime& runtime = engine::runtime();
    own_.address = runtime.allocate_async(
        runtime.current_pool(stream.device()),
        bytes,
        stream);
    own_.bytes = bytes;
  }
  OptionalWorkspace(const OptionalWorkspace&) = delete;
  OptionalWorkspace& operator=(const OptionalWorkspace&) = delete;
  ~OptionalWorkspace() {
    if (own_.address != nullptr)
      release();
  }
  [[nodiscard]] bool ok() const { return asked_.ok(); }
  [[nodiscard]] engine::Workspace get() const {
    return own_.address != nullptr ? own_ : asked_.get();
  }

 private:
  void release() noexcept {
    try {
      engine::runtime().release_async(own_.address, stream_);
    } catch (const engine::Error& error) {
      failed("workspace", error.code(), error.what());
    }
  }
  engine::Stream& stream_;
  WorkspaceScope asked_;
  engine::Workspace own_;
};

// The type of the statistics of floating elements.
inline Dtype statistics_type(Dtype type) {
  return type == Dtype::kDouble ? Dtype::kDouble : Dtype::kFloat;
}

} // namespace musa_standin::api
