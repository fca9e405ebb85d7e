// An OptiX for tests, on the CPU: what `libnvoptix.so.1` gives the module `optix`, and the device
// program itself, compiled as C++. It shows that the module takes our calls, that the parameters
// arrive as the program reads them, and what the program does at a hit. Memory is the host's.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>
#include <optix.h>
#include <optix_function_table.h>

// -- what the program asks of a device

struct float3 { float x, y, z; };
struct uint3 { unsigned int x, y, z; };

static float3 make_float3(float x, float y, float z) { return {x, y, z}; }

#define __constant__
#define __device__
#define __global__
#define __forceinline__ inline

static uint3 launch_index;
static unsigned int payload[32];
static unsigned int primitive;
static unsigned int register_count;

static uint3 optixGetLaunchIndex() { return launch_index; }
static unsigned int optixGetPrimitiveIndex() { return primitive; }
static void optixIgnoreIntersection() {}

#define REGISTER(n)                                                     \
    static unsigned int optixGetPayload_##n() { return payload[n]; }    \
    static void optixSetPayload_##n(unsigned int value) { payload[n] = value; }
REGISTER(0) REGISTER(1) REGISTER(2) REGISTER(3) REGISTER(4) REGISTER(5)
REGISTER(6) REGISTER(7) REGISTER(8) REGISTER(9) REGISTER(10) REGISTER(11)

template <typename T> static T atomicAdd(T* place, T value) { T old = *place; *place += value; return old; }
template <typename T> static T atomicMin(T* place, T value) { T old = *place; if (value < old) *place = value; return old; }
template <typename T> static T atomicMax(T* place, T value) { T old = *place; if (value > old) *place = value; return old; }
template <typename T> static T atomicOr(T* place, T value) { T old = *place; *place |= value; return old; }

static double __longlong_as_double(long long bits) { double value; std::memcpy(&value, &bits, 8); return value; }
static long long __double_as_longlong(double value) { long long bits; std::memcpy(&bits, &value, 8); return bits; }

extern "C" void __anyhit__bucket();

template <typename... Payload>
static void optixTrace(
    OptixTraversableHandle, float3, float3, float, float, float, OptixVisibilityMask, unsigned int,
    unsigned int, unsigned int, unsigned int, Payload&...);

#include "program.cu"

// -- tracing

static void fail(const char* reason)
{
    std::fprintf(stderr, "optix_on_cpu: %s\n", reason);
    std::abort();
}

static void check(bool holds, const char* what)
{
    if (!holds) fail(what);
}

struct Triangles { std::vector<float> corners; };

// The ray runs along +Z; an edge that it touches counts, as in the watertight test.
static bool meets(const float* corners, float3 origin, float length)
{
    double areas[3];
    for (int edge = 0; edge < 3; ++edge) {
        const float* one = corners + 3 * ((edge + 1) % 3);
        const float* other = corners + 3 * ((edge + 2) % 3);
        areas[edge] = (double(one[0]) - origin.x) * (double(other[1]) - origin.y)
            - (double(one[1]) - origin.y) * (double(other[0]) - origin.x);
    }
    const bool below = areas[0] < 0 || areas[1] < 0 || areas[2] < 0;
    const bool above = areas[0] > 0 || areas[1] > 0 || areas[2] > 0;
    const double total = areas[0] + areas[1] + areas[2];
    if ((below && above) || total == 0) return false;
    const float distance = corners[2] - origin.z;
    return distance > 0 && distance < length;
}

template <typename... Payload>
static void optixTrace(
    OptixTraversableHandle scene, float3 origin, float3 direction, float least, float most, float,
    OptixVisibilityMask mask, unsigned int flags, unsigned int offset, unsigned int stride,
    unsigned int miss, Payload&... values)
{
    check(direction.x == 0 && direction.y == 0 && direction.z == 1, "a ray beside Z");
    check(least == 0 && mask == 255 && offset == 0 && stride == 1 && miss == 0, "a ray's options");
    check(flags == (OPTIX_RAY_FLAG_ENFORCE_ANYHIT | OPTIX_RAY_FLAG_DISABLE_CLOSESTHIT), "flags");
    check(sizeof...(values) == register_count, "the number of payload registers");
    unsigned int* places[] = {&values...};
    for (unsigned int n = 0; n < register_count; ++n) payload[n] = *places[n];
    const auto& corners = reinterpret_cast<const Triangles*>(scene)->corners;
    for (primitive = 0; 9 * primitive < corners.size(); ++primitive)
        if (meets(&corners[9 * primitive], origin, most)) __anyhit__bucket();
    for (unsigned int n = 0; n < register_count; ++n) *places[n] = payload[n];
}

// -- the driver's functions

static const char* names[] = {"__raygen__lanes", "__miss__nothing", "__anyhit__bucket"};

static const char* text(OptixResult result)
{
    return result == OPTIX_ERROR_DEVICE_OUT_OF_MEMORY ? "Device out of memory" : "Launch failure";
}

static const char* name_of(OptixResult result)
{
    return result == OPTIX_ERROR_DEVICE_OUT_OF_MEMORY ? "OPTIX_ERROR_DEVICE_OUT_OF_MEMORY"
                                                      : "OPTIX_ERROR_LAUNCH_FAILURE";
}

static OptixResult none() { return OPTIX_SUCCESS; }

static OptixResult create_context(CUcontext, const OptixDeviceContextOptions*, OptixDeviceContext* made)
{
    *made = reinterpret_cast<OptixDeviceContext>(1);
    return OPTIX_SUCCESS;
}

static OptixResult get_property(OptixDeviceContext, OptixDeviceProperty name, void* value, size_t size)
{
    check(name == OPTIX_DEVICE_PROPERTY_RTCORE_VERSION && size == 4, "a property");
    *static_cast<unsigned int*>(value) = 0;
    return OPTIX_SUCCESS;
}

static OptixResult create_module(
    OptixDeviceContext, const OptixModuleCompileOptions*, const OptixPipelineCompileOptions* options,
    const char* input, size_t size, char*, size_t* log_size, OptixModule* made)
{
    const std::string ptx(input, size);
    for (const char* name : names) check(ptx.find(name) != std::string::npos, name);
    check(ptx.find(options->pipelineLaunchParamsVariableName) != std::string::npos, "the parameters");
    check(options->numAttributeValues == 2 && !options->usesMotionBlur, "pipeline options");
    check(options->traversableGraphFlags == OPTIX_TRAVERSABLE_GRAPH_FLAG_ALLOW_SINGLE_GAS, "graph");
    check(options->usesPrimitiveTypeFlags == OPTIX_PRIMITIVE_TYPE_FLAGS_TRIANGLE, "primitives");
    register_count = options->numPayloadValues;
    if (log_size) *log_size = 0;
    *made = reinterpret_cast<OptixModule>(2);
    return OPTIX_SUCCESS;
}

static OptixResult create_groups(
    OptixDeviceContext, const OptixProgramGroupDesc* described, unsigned int count,
    const OptixProgramGroupOptions*, char*, size_t* log_size, OptixProgramGroup* made)
{
    for (unsigned int n = 0; n < count; ++n) {
        std::string name;
        switch (described[n].kind) {
            case OPTIX_PROGRAM_GROUP_KIND_RAYGEN: name = described[n].raygen.entryFunctionName; break;
            case OPTIX_PROGRAM_GROUP_KIND_MISS: name = described[n].miss.entryFunctionName; break;
            case OPTIX_PROGRAM_GROUP_KIND_HITGROUP:
                check(!described[n].hitgroup.moduleCH && !described[n].hitgroup.moduleIS, "a hit group");
                name = described[n].hitgroup.entryFunctionNameAH;
                break;
            default: fail("a kind of program");
        }
        const OptixProgramGroupKind kinds[] = {
            OPTIX_PROGRAM_GROUP_KIND_RAYGEN, OPTIX_PROGRAM_GROUP_KIND_MISS,
            OPTIX_PROGRAM_GROUP_KIND_HITGROUP};
        size_t place = 0;
        while (place < 3 && name != names[place]) ++place;
        check(place < 3 && described[n].kind == kinds[place], name.c_str());
        made[n] = reinterpret_cast<OptixProgramGroup>(10 + place);
    }
    if (log_size) *log_size = 0;
    return OPTIX_SUCCESS;
}

static OptixResult get_stack(OptixProgramGroup, OptixStackSizes* sizes, OptixPipeline)
{
    *sizes = OptixStackSizes{};
    return OPTIX_SUCCESS;
}

static OptixResult create_pipeline(
    OptixDeviceContext, const OptixPipelineCompileOptions* options, const OptixPipelineLinkOptions* links,
    const OptixProgramGroup*, unsigned int count, char*, size_t* log_size, OptixPipeline* made)
{
    check(count == 3 && links->maxTraceDepth == 1, "the pipeline");
    check(options->numPayloadValues == int(register_count), "the pipeline's payload");
    if (log_size) *log_size = 0;
    *made = reinterpret_cast<OptixPipeline>(3);
    return OPTIX_SUCCESS;
}

static OptixResult set_stack(OptixPipeline, unsigned int, unsigned int, unsigned int, unsigned int depth)
{
    check(depth == 1, "the depth of the graph");
    return OPTIX_SUCCESS;
}

static OptixResult pack_header(OptixProgramGroup group, void* header)
{
    *static_cast<OptixProgramGroup*>(header) = group;
    return OPTIX_SUCCESS;
}

static const OptixBuildInputTriangleArray& triangles_of(
    const OptixAccelBuildOptions* options, const OptixBuildInput* inputs, unsigned int count)
{
    check(count == 1 && inputs->type == OPTIX_BUILD_INPUT_TYPE_TRIANGLES, "a build's input");
    check(options->operation == OPTIX_BUILD_OPERATION_BUILD, "a build's operation");
    const unsigned int flags = OPTIX_BUILD_FLAG_PREFER_FAST_TRACE | OPTIX_BUILD_FLAG_ALLOW_COMPACTION;
    check(options->buildFlags == flags, "a build's flags");
    const auto& found = inputs->triangleArray;
    check(found.vertexFormat == OPTIX_VERTEX_FORMAT_FLOAT3 && !found.indexBuffer, "the vertices");
    check(found.vertexStrideInBytes == 0 || found.vertexStrideInBytes == 12, "their stride");
    check(found.numVertices > 0 && found.vertexBuffers[0], "a build without triangles");
    check(found.numSbtRecords == 1, "the records of a build");
    check(found.flags[0] == OPTIX_GEOMETRY_FLAG_REQUIRE_SINGLE_ANYHIT_CALL, "the geometry's flags");
    return found;
}

static OptixResult measure_build(
    OptixDeviceContext, const OptixAccelBuildOptions* options, const OptixBuildInput* inputs,
    unsigned int count, OptixAccelBufferSizes* sizes)
{
    triangles_of(options, inputs, count);
    *sizes = OptixAccelBufferSizes{256, 128, 0};
    return OPTIX_SUCCESS;
}

static OptixResult build(
    OptixDeviceContext, CUstream, const OptixAccelBuildOptions* options, const OptixBuildInput* inputs,
    unsigned int count, CUdeviceptr scratch, size_t scratch_size, CUdeviceptr output, size_t output_size,
    OptixTraversableHandle* handle, const OptixAccelEmitDesc* properties, unsigned int emitted)
{
    const auto& found = triangles_of(options, inputs, count);
    check(scratch && scratch_size == 128 && output && output_size == 256, "buffers");
    check(emitted == 1 && properties->type == OPTIX_PROPERTY_TYPE_COMPACTED_SIZE, "what is emitted");
    check(properties->result && properties->result % 8 == 0, "the place of a size");
    // Every other structure is as small as can be already.
    static unsigned int builds = 0;
    *reinterpret_cast<unsigned long long*>(properties->result) = builds++ % 2 ? 256 : 192;
    check(output % OPTIX_ACCEL_BUFFER_BYTE_ALIGNMENT == 0, "the structure's place");
    const float* corners = reinterpret_cast<const float*>(found.vertexBuffers[0]);
    auto* kept = new Triangles{{corners, corners + 3 * found.numVertices}};
    *handle = reinterpret_cast<OptixTraversableHandle>(kept);
    return OPTIX_SUCCESS;
}

static OptixResult compact(
    OptixDeviceContext, CUstream, OptixTraversableHandle whole, CUdeviceptr output, size_t size,
    OptixTraversableHandle* handle)
{
    check(output && output % OPTIX_ACCEL_BUFFER_BYTE_ALIGNMENT == 0 && size == 192, "a compaction");
    auto* from = reinterpret_cast<Triangles*>(whole);
    *handle = reinterpret_cast<OptixTraversableHandle>(new Triangles{std::move(from->corners)});
    delete from;
    return OPTIX_SUCCESS;
}

static OptixProgramGroup group_at(CUdeviceptr record)
{
    check(record && record % OPTIX_SBT_RECORD_ALIGNMENT == 0, "a record's place");
    return *reinterpret_cast<OptixProgramGroup*>(record);
}

static OptixResult run(
    OptixPipeline, CUstream, CUdeviceptr sent, size_t size, const OptixShaderBindingTable* table,
    unsigned int width, unsigned int height, unsigned int depth)
{
    if (const char* fault = std::getenv("OPTIX_ON_CPU_FAULT"))
        return std::strcmp(fault, "memory") ? OPTIX_ERROR_LAUNCH_FAILURE
                                            : OPTIX_ERROR_DEVICE_OUT_OF_MEMORY;
    check(size == sizeof(Params), "the size of the parameters");
    check(group_at(table->raygenRecord) == reinterpret_cast<OptixProgramGroup>(10), "raygen record");
    check(group_at(table->missRecordBase) == reinterpret_cast<OptixProgramGroup>(11), "miss record");
    check(group_at(table->hitgroupRecordBase) == reinterpret_cast<OptixProgramGroup>(12), "hit record");
    check(table->hitgroupRecordCount == 1 && table->missRecordCount == 1, "the records' number");
    check(width <= (1u << 30) && height == 1 && depth == 1, "the number of rays");
    std::memcpy(&params, reinterpret_cast<const void*>(sent), size);
    for (launch_index.x = 0; launch_index.x < width; ++launch_index.x) __raygen__lanes();
    return OPTIX_SUCCESS;
}

extern "C" OptixResult optixQueryFunctionTable(
    int abi, unsigned int, void*, const void**, void* place, size_t size)
{
    if (abi != OPTIX_ABI_VERSION) return OPTIX_ERROR_UNSUPPORTED_ABI_VERSION;
    if (size != sizeof(OptixFunctionTable)) return OPTIX_ERROR_FUNCTION_TABLE_SIZE_MISMATCH;
    auto* table = static_cast<OptixFunctionTable*>(place);
    void** entries = static_cast<void**>(place);
    for (size_t n = 0; n < size / sizeof(void*); ++n) entries[n] = reinterpret_cast<void*>(none);
    table->optixGetErrorName = name_of;
    table->optixGetErrorString = text;
    table->optixDeviceContextCreate = create_context;
    table->optixDeviceContextGetProperty = get_property;
    table->optixModuleCreate = create_module;
    table->optixProgramGroupCreate = create_groups;
    table->optixProgramGroupGetStackSize = get_stack;
    table->optixPipelineCreate = create_pipeline;
    table->optixPipelineSetStackSize = set_stack;
    table->optixAccelComputeMemoryUsage = measure_build;
    table->optixAccelBuild = build;
    table->optixAccelCompact = compact;
    table->optixSbtRecordPackHeader = pack_header;
    table->optixLaunch = run;
    return OPTIX_SUCCESS;
}
