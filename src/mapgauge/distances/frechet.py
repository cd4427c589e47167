def frechet(): pass
