; Fork-join over a range of units: `parallel_for` is slot 0 of the run-time table.
;
; One word, @generation, publishes work: its low 10 bits are the number of threads that take part,
; the rest counts.  A worker that is not among them reads nothing else, so the fields below are
; only read between the publication and the last decrement of @pending, while they stand still.
; A second caller (another Python thread, or a task that calls back) finds @busy set and runs all
; its units itself.

@generation = internal global i32 0, align 64
@sleepers = internal global i32 0
@pending = internal global i32 0, align 64
@waiting = internal global i32 0
@busy = internal global i32 0, align 64
@started = internal global i64 0
@task = internal global ptr null
@task_context = internal global ptr null
@task_units = internal global i64 0
@thread_count = global i64 1, align 64

; The units of thread %id of %n, run here.
define internal void @run_chunk(i64 %id, i64 %n) nounwind {
  %task = load ptr, ptr @task
  %context = load ptr, ptr @task_context
  %units = load i64, ptr @task_units
  %low = mul i64 %units, %id
  %begin = udiv i64 %low, %n
  %high = add i64 %low, %units
  %end = udiv i64 %high, %n
  call void %task(ptr %context, i64 %begin, i64 %end, i64 %id)
  ret void
}

; A worker: spin a little, then give the core away, then sleep until the generation changes.
define internal ptr @worker(ptr %argument) nounwind {
entry:
  %packed = ptrtoint ptr %argument to i64
  %id = and i64 %packed, 1023
  %shifted = lshr i64 %packed, 32
  %first = trunc i64 %shifted to i32
  %bit = trunc i64 %id to i32
  %bit31 = and i32 %bit, 31
  %mask = shl i32 1, %bit31
  br label %idle
idle:
  %last = phi i32 [%first, %entry], [%now, %work], [%now, %finish]
  br label %look
look:
  %turn = phi i32 [0, %idle], [%next, %spin], [%next, %give], [%turn, %sleep]
  %now = load atomic i32, ptr @generation seq_cst, align 4
  %same = icmp eq i32 %now, %last
  br i1 %same, label %tired, label %work
tired:
  %next = add i32 %turn, 1
  %fresh = icmp ult i32 %turn, {spins}
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i32 %turn, {yields}
  br i1 %awake, label %give, label %sleep
give:
  call void @give_core()
  br label %look
sleep:
  atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @wait(ptr @generation, i32 %last, i32 %mask)
  atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %look
work:
  %low = and i32 %now, 1023
  %n = zext i32 %low to i64
  %mine = icmp ult i64 %id, %n
  br i1 %mine, label %finish, label %idle
finish:
  call void @run_chunk(i64 %id, i64 %n)
  call void @chunk_done()
  br label %idle
}

define internal void @chunk_done() nounwind {
  %before = atomicrmw sub ptr @pending, i32 1 seq_cst
  %waiting = load atomic i32, ptr @waiting seq_cst, align 4
  %last = icmp eq i32 %before, 1
  %slept = icmp ne i32 %waiting, 0
  %both = and i1 %last, %slept
  br i1 %both, label %tell, label %done
tell:
  call void @wake(ptr @pending, i32 -1)
  br label %done
done:
  ret void
}

; Wait for the workers that take part.
define internal void @join() nounwind {
entry:
  br label %look
look:
  %turn = phi i32 [0, %entry], [%next, %spin], [%next, %give], [%turn, %sleep]
  %left = load atomic i32, ptr @pending seq_cst, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %done, label %tired
tired:
  %next = add i32 %turn, 1
  %fresh = icmp ult i32 %turn, {spins}
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i32 %turn, {yields}
  br i1 %awake, label %give, label %sleep
give:
  call void @give_core()
  br label %look
sleep:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %again = load atomic i32, ptr @pending seq_cst, align 4
  %ended = icmp eq i32 %again, 0
  br i1 %ended, label %done, label %block
block:
  call void @wait(ptr @pending, i32 %again, i32 -1)
  br label %look
done:
  store atomic i32 0, ptr @waiting seq_cst, align 4
  ret void
}

; Start workers until %n threads (the caller included) can take part; returns how many can.
define internal i64 @grow(i64 %n) nounwind {
entry:
  br label %test
test:
  %have = load i64, ptr @started
  %able = add i64 %have, 1
  %enough = icmp uge i64 %able, %n
  br i1 %enough, label %full, label %more
full:
  ret i64 %n
more:
  %now = load atomic i32, ptr @generation seq_cst, align 4
  %wide = zext i32 %now to i64
  %high = shl i64 %wide, 32
  %packed = or i64 %high, %able
  %argument = inttoptr i64 %packed to ptr
  %failed = call i32 @spawn(ptr @worker, ptr %argument)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %short, label %good
good:
  store i64 %able, ptr @started
  br label %test
short:
  ret i64 %able
}

define void @parallel_for(ptr %rt, ptr %task, ptr %context, i64 %units) nounwind {
entry:
  %none = icmp sle i64 %units, 0
  br i1 %none, label %leave, label %some
some:
  %allowed = load i64, ptr @thread_count
  %wanted = call i64 @llvm.umin.i64(i64 %allowed, i64 %units)
  %alone = icmp ule i64 %wanted, 1
  br i1 %alone, label %serial, label %try
try:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %own, label %serial
own:
  %n = call i64 @grow(i64 %wanted)
  %single = icmp ule i64 %n, 1
  br i1 %single, label %release, label %publish
publish:
  store ptr %task, ptr @task
  store ptr %context, ptr @task_context
  store i64 %units, ptr @task_units
  %n32 = trunc i64 %n to i32
  %others = sub i32 %n32, 1
  store atomic i32 %others, ptr @pending monotonic, align 4
  %old = load atomic i32, ptr @generation monotonic, align 4
  %counted = add i32 %old, 1024
  %clean = and i32 %counted, -1024
  %new = or i32 %clean, %n32
  store atomic i32 %new, ptr @generation seq_cst, align 4
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %rouse, label %share
rouse:
  %few = icmp ult i32 %n32, 32
  %safe = and i32 %n32, 31
  %bits = shl i32 1, %safe
  %ones = sub i32 %bits, 1
  %mask = select i1 %few, i32 %ones, i32 -1
  call void @wake(ptr @generation, i32 %mask)
  br label %share
share:
  call void @run_chunk(i64 0, i64 %n)
  call void @join()
  store atomic i32 0, ptr @busy release, align 4
  br label %leave
release:
  store atomic i32 0, ptr @busy release, align 4
  br label %serial
serial:
  call void %task(ptr %context, i64 0, i64 %units, i64 0)
  br label %leave
leave:
  ret void
}

; In the child of a fork: there are no workers, and nobody waits.
define void @threads_reset() nounwind {
  store i64 0, ptr @started
  store i32 0, ptr @sleepers
  store i32 0, ptr @pending
  store i32 0, ptr @waiting
  store i32 0, ptr @busy
  ret void
}
