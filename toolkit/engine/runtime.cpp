// SPDX-License-Identifier: Apache-2.0
// What an engine that does not implement a function answers.
#include "toolkit/engine/runtime.h"

#include <string>

namespace musa_standin::engine {
namespace {

[[noreturn]] void not_supported(const char* function) {
  throw Error(
      musaErrorNotSupported,
      std::string("the engine does not implement ") + function);
}

} // namespace

int Runtime::driver_version() const {
  return 50100;
}

uint64_t Runtime::counter(const char* /*name*/) const noexcept {
  return 0;
}

void Runtime::stop() noexcept {}

int Runtime::device_count() {
  not_supported("device_count");
}

void Runtime::initialize(int /*device*/) {
  not_supported("initialize");
}

void Runtime::synchronize_device(int /*device*/) {
  not_supported("synchronize_device");
}

void Runtime::reset_device(int /*device*/) {
  not_supported("reset_device");
}

void Runtime::properties(int /*device*/, musaDeviceProp& /*out*/) {
  not_supported("properties");
}

int Runtime::attribute(int /*device*/, musaDeviceAttr /*attribute*/) {
  not_supported("attribute");
}

void Runtime::set_device_flags(int /*device*/, unsigned /*flags*/) {
  not_supported("set_device_flags");
}

unsigned Runtime::device_flags(int /*device*/) {
  not_supported("device_flags");
}

void Runtime::set_limit(int /*device*/, musaLimit /*limit*/, size_t /*value*/) {
  not_supported("set_limit");
}

size_t Runtime::limit(int /*device*/, musaLimit /*limit*/) {
  not_supported("limit");
}

void Runtime::priority_range(int& /*least*/, int& /*greatest*/) {
  not_supported("priority_range");
}

bool Runtime::can_access_peer(int /*device*/, int /*peer*/) {
  not_supported("can_access_peer");
}

void Runtime::enable_peer_access(int /*device*/, int /*peer*/) {
  not_supported("enable_peer_access");
}

void Runtime::disable_peer_access(int /*device*/, int /*peer*/) {
  not_supported("disable_peer_access");
}

musaError_t Runtime::sticky_error(int /*device*/) noexcept {
  return musaSuccess;
}

const char* Runtime::failed_task(int /*device*/) noexcept {
  return "";
}

void Runtime::memory_info(int /*device*/, size_t& /*free*/, size_t& /*total*/) {
  not_supported("memory_info");
}

void* Runtime::allocate(int /*device*/, size_t /*bytes*/) {
  not_supported("allocate");
}

void Runtime::release(void* /*pointer*/) {
  not_supported("release");
}

void* Runtime::allocate_host(size_t /*bytes*/, unsigned /*flags*/) {
  not_supported("allocate_host");
}

void Runtime::release_host(void* /*pointer*/) {
  not_supported("release_host");
}

void Runtime::register_host(
    void* /*pointer*/,
    size_t /*bytes*/,
    unsigned /*flags*/) {
  not_supported("register_host");
}

void Runtime::unregister_host(void* /*pointer*/) {
  not_supported("unregister_host");
}

void* Runtime::host_device_pointer(void* /*pointer*/) {
  not_supported("host_device_pointer");
}

unsigned Runtime::host_flags(void* /*pointer*/) {
  not_supported("host_flags");
}

void* Runtime::allocate_managed(
    int /*device*/,
    size_t /*bytes*/,
    unsigned /*flags*/) {
  not_supported("allocate_managed");
}

void Runtime::pointer_attributes(
    musaPointerAttributes& /*out*/,
    const void* /*p*/) {
  not_supported("pointer_attributes");
}

void Runtime::copy(
    Stream& /*stream*/,
    const Copy& /*copy*/,
    bool /*blocking*/) {
  not_supported("copy");
}

void Runtime::fill(Stream& /*stream*/, const Fill& /*fill*/) {
  not_supported("fill");
}

void* Runtime::allocate_async(
    MemPool* /*pool*/,
    size_t /*bytes*/,
    Stream& /*stream*/) {
  not_supported("allocate_async");
}

void Runtime::release_async(void* /*pointer*/, Stream& /*stream*/) {
  not_supported("release_async");
}

MemPool* Runtime::create_pool(const musaMemPoolProps& /*props*/) {
  not_supported("create_pool");
}

void Runtime::destroy_pool(musaMemPool_t /*pool*/) {
  not_supported("destroy_pool");
}

MemPool* Runtime::resolve_pool(musaMemPool_t /*pool*/) {
  not_supported("resolve_pool");
}

void Runtime::set_pool_attribute(MemPool*, musaMemPoolAttr, const void*) {
  not_supported("set_pool_attribute");
}

void Runtime::pool_attribute(MemPool*, musaMemPoolAttr, void*) {
  not_supported("pool_attribute");
}

void Runtime::trim_pool(MemPool* /*pool*/, size_t /*keep_bytes*/) {
  not_supported("trim_pool");
}

MemPool* Runtime::default_pool(int /*device*/) {
  not_supported("default_pool");
}

MemPool* Runtime::current_pool(int /*device*/) {
  not_supported("current_pool");
}

void Runtime::set_current_pool(int /*device*/, MemPool* /*pool*/) {
  not_supported("set_current_pool");
}

Stream&
Runtime::create_stream(int /*device*/, unsigned /*flags*/, int /*priority*/) {
  not_supported("create_stream");
}

void Runtime::destroy_stream(musaStream_t /*handle*/) {
  not_supported("destroy_stream");
}

void Runtime::synchronize_stream(Stream& /*stream*/) {
  not_supported("synchronize_stream");
}

bool Runtime::query_stream(Stream& /*stream*/) {
  not_supported("query_stream");
}

void Runtime::wait_event(Stream& /*stream*/, Event& /*event*/) {
  not_supported("wait_event");
}

void Runtime::launch_host_function(Stream& /*stream*/, musaHostFn_t, void*) {
  not_supported("launch_host_function");
}

void Runtime::add_callback(
    Stream&,
    musaStream_t /*handle*/,
    musaStreamCallback_t,
    void*) {
  not_supported("add_callback");
}

Event& Runtime::create_event(int /*device*/, unsigned /*flags*/) {
  not_supported("create_event");
}

Event& Runtime::resolve_event(musaEvent_t /*handle*/) {
  not_supported("resolve_event");
}

void Runtime::destroy_event(musaEvent_t /*handle*/) {
  not_supported("destroy_event");
}

void Runtime::record_event(Event& /*event*/, Stream& /*stream*/) {
  not_supported("record_event");
}

void Runtime::synchronize_event(Event& /*event*/) {
  not_supported("synchronize_event");
}

bool Runtime::query_event(Event& /*event*/) {
  not_supported("query_event");
}

float Runtime::elapsed_ms(Event& /*start*/, Event& /*end*/) {
  not_supported("elapsed_ms");
}

void Runtime::begin_capture(Stream& /*stream*/, musaStreamCaptureMode) {
  not_supported("begin_capture");
}

musaGraph_t Runtime::end_capture(Stream& /*stream*/) {
  not_supported("end_capture");
}

CaptureInfo Runtime::capture_info(Stream& /*stream*/) {
  not_supported("capture_info");
}

musaStreamCaptureMode Runtime::exchange_capture_mode(musaStreamCaptureMode) {
  not_supported("exchange_capture_mode");
}

musaGraph_t Runtime::create_graph() {
  not_supported("create_graph");
}

void Runtime::destroy_graph(musaGraph_t /*graph*/) {
  not_supported("destroy_graph");
}

size_t
Runtime::graph_nodes(musaGraph_t, musaGraphNode_t* /*nodes*/, size_t /*room*/) {
  not_supported("graph_nodes");
}

musaGraphNodeType Runtime::graph_node_type(musaGraphNode_t /*node*/) {
  not_supported("graph_node_type");
}

void Runtime::print_graph(
    musaGraph_t,
    const char* /*path*/,
    unsigned /*flags*/) {
  not_supported("print_graph");
}

musaGraphExec_t Runtime::instantiate_graph(
    musaGraph_t /*graph*/,
    unsigned long long /*flags*/) {
  not_supported("instantiate_graph");
}

void Runtime::destroy_graph_exec(musaGraphExec_t /*exec*/) {
  not_supported("destroy_graph_exec");
}

void Runtime::launch_graph(musaGraphExec_t /*exec*/, Stream& /*stream*/) {
  not_supported("launch_graph");
}

} // namespace musa_standin::engine
