; Buffers of data that are kept when they are freed, so that no call page-faults twice.
;
; A block is a 64-byte header and, right after it, 64-byte aligned data.  Sizes come in four steps
; per power of two, each with its own list of free blocks.  The header says all that freeing needs;
; what is live is counted in the bytes that were requested.
; Large blocks begin at different distances from a page: a loop over a dozen arrays at equal ones
; needs more ways than the first-level cache has, and runs 1.4 times as long.

; Class, bytes of the block, next free or (in use) bytes that were requested, start of memory.
%Header = type {i64, i64, ptr, ptr}
; Lock, kept, limit, hits, misses, live, most that was live (bytes), most that may be live (0: any).
%Pool = type {i64, i64, i64, i64, i64, i64, i64, i64}

@pool = global %Pool {i64 0, i64 0, i64 1073741824, i64 0, i64 0, i64 0, i64 0, i64 0}, align 64
; Calls that run and will give memory back, threads that wait for some, and how often it came back.
@pool_busy = internal global i64 0, align 64
@pool_waiters = internal global i64 0
@pool_turn = internal global i32 0
@free_blocks = internal global [256 x ptr] zeroinitializer, align 64

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)

define internal void @pool_lock() nounwind alwaysinline {
entry:
  br label %try
try:
  %pair = cmpxchg ptr @pool, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {i64, i1} %pair, 1
  br i1 %mine, label %done, label %give
give:
  call void @give_core()
  br label %try
done:
  ret void
}

define internal void @pool_unlock() nounwind alwaysinline {
  store atomic i64 0, ptr @pool release, align 8
  ret void
}

define internal void @pool_add(i64 %field, i64 %amount) nounwind alwaysinline {
  %field.at = getelementptr i64, ptr @pool, i64 %field
  %old = load i64, ptr %field.at
  %new = add i64 %old, %amount
  store i64 %new, ptr %field.at
  ret void
}

; 64-byte aligned memory, not initialised; null when there is none.
define ptr @pool_alloc(i64 %size) nounwind {
entry:
  %with = add i64 %size, 64
  %huge = icmp ult i64 %with, %size
  br i1 %huge, label %nothing, label %fits
fits:
  %want = call i64 @llvm.umax.i64(i64 %with, i64 1024)
  %less = sub i64 %want, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 2
  %steps = lshr i64 %less, %shift
  %up = add i64 %steps, 1
  %bytes = shl i64 %up, %shift
  %quarter = and i64 %steps, 3
  %four = shl i64 %power, 2
  %class = or i64 %four, %quarter
  %head = getelementptr ptr, ptr @free_blocks, i64 %class
  call void @pool_lock()
  %used = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5)
  %live = add i64 %used, %size
  %bound = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 7)
  %free = icmp eq i64 %bound, 0
  %inside = icmp ule i64 %live, %bound
  %allowed = or i1 %free, %inside
  br i1 %allowed, label %take, label %refuse
refuse:
  call void @pool_unlock()
  br label %nothing
take:
  store i64 %live, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 5)
  %peak = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6)
  %most = call i64 @llvm.umax.i64(i64 %live, i64 %peak)
  store i64 %most, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 6)
  %found = load ptr, ptr %head
  %none = icmp eq ptr %found, null
  br i1 %none, label %miss, label %hit
hit:
  %next.at = getelementptr %Header, ptr %found, i64 0, i32 2
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %head
  %gone = sub i64 0, %bytes
  call void @pool_add(i64 1, i64 %gone)
  call void @pool_add(i64 3, i64 1)
  call void @pool_unlock()
  store i64 %size, ptr %next.at
  %data = getelementptr i8, ptr %found, i64 64
  ret ptr %data
miss:
  %count = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 4)
  call void @pool_add(i64 4, i64 1)
  %kept = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1)
  call void @pool_unlock()
  %all = add i64 %live, %kept
  %within = icmp ule i64 %all, %bound
  %fits.in = or i1 %free, %within
  br i1 %fits.in, label %ask, label %sweep
sweep:                                        ; what is kept counts too
  call void @pool_trim()
  br label %ask
ask:
  %large = icmp uge i64 %bytes, 32768
  %slack = select i1 %large, i64 4096, i64 0
  %room = add i64 %bytes, %slack
  %try = call ptr @system_alloc(i64 %room)
  %short = icmp eq ptr %try, null
  br i1 %short, label %collect, label %fresh
collect:
  call void @pool_trim()
  %again = call ptr @system_alloc(i64 %room)
  %failed = icmp eq ptr %again, null
  br i1 %failed, label %undo, label %fresh
fresh:
  %memory = phi ptr [%try, %ask], [%again, %collect]
  %colour = and i64 %count, 15
  %distance = shl i64 %colour, 8
  %ahead = select i1 %large, i64 %distance, i64 0
  %block = getelementptr i8, ptr %memory, i64 %ahead
  store i64 %class, ptr %block
  %bytes.at = getelementptr %Header, ptr %block, i64 0, i32 1
  store i64 %bytes, ptr %bytes.at
  %size.at = getelementptr %Header, ptr %block, i64 0, i32 2
  store i64 %size, ptr %size.at
  %start.at = getelementptr %Header, ptr %block, i64 0, i32 3
  store ptr %memory, ptr %start.at
  %new = getelementptr i8, ptr %block, i64 64
  ret ptr %new
undo:
  call void @pool_lock()
  %minus = sub i64 0, %size
  call void @pool_add(i64 5, i64 %minus)
  call void @pool_unlock()
  br label %nothing
nothing:
  ret ptr null
}

; When the list of kept blocks is full, it holds sizes that are not requested: then start afresh.
define void @pool_free(ptr %data) nounwind {
entry:
  %block = getelementptr i8, ptr %data, i64 -64
  %class = load i64, ptr %block
  %bytes.at = getelementptr %Header, ptr %block, i64 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %next.at = getelementptr %Header, ptr %block, i64 0, i32 2
  %start.at = getelementptr %Header, ptr %block, i64 0, i32 3
  %head = getelementptr ptr, ptr @free_blocks, i64 %class
  %size = load i64, ptr %next.at
  call void @pool_lock()
  %minus = sub i64 0, %size
  call void @pool_add(i64 5, i64 %minus)
  br label %weigh
weigh:
  %limit = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 2)
  %kept = load i64, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1)
  %after = add i64 %kept, %bytes
  %over = icmp ugt i64 %after, %limit
  br i1 %over, label %full, label %keep
keep:
  store i64 %after, ptr getelementptr (%Pool, ptr @pool, i64 0, i32 1)
  %first = load ptr, ptr %head
  store ptr %first, ptr %next.at
  store ptr %block, ptr %head
  call void @pool_unlock()
  call void @pool_tell()
  ret void
full:
  call void @pool_unlock()
  %hopeless = icmp ugt i64 %bytes, %limit
  br i1 %hopeless, label %drop, label %clear
clear:
  call void @pool_trim()
  call void @pool_lock()
  br label %weigh
drop:
  %start = load ptr, ptr %start.at
  call void @system_free(ptr %start)
  call void @pool_tell()
  ret void
}

; Let those who wait for memory look again.
define internal void @pool_tell() nounwind alwaysinline {
entry:
  %waiters = load atomic i64, ptr @pool_waiters seq_cst, align 8
  %none = icmp eq i64 %waiters, 0
  br i1 %none, label %done, label %tell
tell:
  %turn = atomicrmw add ptr @pool_turn, i32 1 seq_cst
  call void @wake(ptr @pool_turn, i32 -1)
  br label %done
done:
  ret void
}

; Give all kept blocks back to the system.
define void @pool_trim() nounwind {
entry:
  br label %class
class:
  %i = phi i64 [0, %entry], [%i1, %end]
  %head = getelementptr ptr, ptr @free_blocks, i64 %i
  br label %block
block:
  call void @pool_lock()
  %found = load ptr, ptr %head
  %none = icmp eq ptr %found, null
  br i1 %none, label %end, label %take
take:
  %next.at = getelementptr %Header, ptr %found, i64 0, i32 2
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %head
  %bytes.at = getelementptr %Header, ptr %found, i64 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %minus = sub i64 0, %bytes
  call void @pool_add(i64 1, i64 %minus)
  call void @pool_unlock()
  %start.at = getelementptr %Header, ptr %found, i64 0, i32 3
  %start = load ptr, ptr %start.at
  call void @system_free(ptr %start)
  br label %block
end:
  call void @pool_unlock()
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 256
  br i1 %more, label %class, label %done
done:
  ret void
}

; In the child of a fork, whoever held the lock is gone; the lists are whole between any two stores.
define void @pool_reset() nounwind {
  store atomic i64 0, ptr @pool release, align 8
  store atomic i64 0, ptr @pool_busy release, align 8
  store atomic i64 0, ptr @pool_waiters release, align 8
  ret void
}

; The functions of a NumPy memory handler (NEP 49).
define ptr @handler_malloc(ptr %context, i64 %size) nounwind {
  %data = call ptr @pool_alloc(i64 %size)
  ret ptr %data
}

define ptr @handler_calloc(ptr %context, i64 %count, i64 %each) nounwind {
entry:
  %pair = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue {i64, i1} %pair, 0
  %over = extractvalue {i64, i1} %pair, 1
  br i1 %over, label %nothing, label %get
get:
  %data = call ptr @pool_alloc(i64 %size)
  %none = icmp eq ptr %data, null
  br i1 %none, label %nothing, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %size, i1 false)
  ret ptr %data
nothing:
  ret ptr null
}

define ptr @handler_realloc(ptr %context, ptr %old, i64 %size) nounwind {
entry:
  %data = call ptr @pool_alloc(i64 %size)
  %none = icmp eq ptr %data, null
  %first = icmp eq ptr %old, null
  %nothing = or i1 %none, %first
  br i1 %nothing, label %done, label %copy
copy:
  %block = getelementptr i8, ptr %old, i64 -64
  %bytes.at = getelementptr %Header, ptr %block, i64 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %room = sub i64 %bytes, 64
  %length = call i64 @llvm.umin.i64(i64 %room, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %old, i64 %length, i1 false)
  call void @pool_free(ptr %old)
  br label %done
done:
  ret ptr %data
}

define void @handler_free(ptr %context, ptr %data, i64 %size) nounwind {
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %free
free:
  call void @pool_free(ptr %data)
  br label %done
done:
  ret void
}

declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
